package Modelica "Small library that comes with Estimica: the names of the Modelica Standard Library that small models need"
  extends Modelica.Icons.Package;
  // Written for Estimica, under its licence, after the public interface of the standard library.
  // Where that library is found, it is used instead.
  annotation (version="4.1.0 (small)");
end Modelica;
