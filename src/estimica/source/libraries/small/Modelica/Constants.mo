within Modelica;
package Constants "Mathematical and physical constants, CODATA 2018 and SI 2019"
  import Modelica.Units.SI;
  final constant Real e = 2.718281828459045235 "Base of the natural logarithm";
  final constant Real pi = 3.141592653589793238;
  final constant Real D2R = pi/180 "Radians in a degree";
  final constant Real R2D = 180/pi "Degrees in a radian";
  final constant Real gamma = 0.577215664901532861 "Euler's constant";
  final constant Real eps = 2.220446049250313e-16 "Distance of 1 from the next number";
  final constant Real small = 2.2250738585072014e-308 "Smallest number above zero";
  final constant Real inf = 1.7976931348623157e308 "Largest number";
  final constant Integer Integer_inf = 2147483647 "Largest Integer";
  final constant SI.Velocity c = 299792458 "Speed of light in vacuum";
  final constant SI.Acceleration g_n = 9.80665 "Standard acceleration of gravity";
  final constant Real G(final unit="m3/(kg.s2)") = 6.67430e-11 "Constant of gravitation";
  final constant SI.ElectricCharge q = 1.602176634e-19 "Elementary charge";
  final constant Real h(final unit="J.s") = 6.62607015e-34 "Planck constant";
  final constant Real k(final unit="J/K") = 1.380649e-23 "Boltzmann constant";
  final constant Real N_A(final unit="1/mol") = 6.02214076e23 "Avogadro constant";
  final constant Real R(final unit="J/(mol.K)") = k*N_A "Molar gas constant";
  final constant Real F(final unit="C/mol") = q*N_A "Faraday constant";
  final constant Real sigma(final unit="W/(m2.K4)") = 2*pi^5*k^4/(15*h^3*c^2)
    "Stefan-Boltzmann constant";
  final constant Real mu_0(final unit="N/A2") = 1.25663706212e-6 "Magnetic constant";
  final constant Real epsilon_0(final unit="F/m") = 1/(mu_0*c*c) "Electric constant";
  final constant Modelica.Units.NonSI.Temperature_degC T_zero = -273.15 "Absolute zero";
end Constants;
