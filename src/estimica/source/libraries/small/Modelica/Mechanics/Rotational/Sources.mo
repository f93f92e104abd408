within Modelica.Mechanics.Rotational;
package Sources "Torques and prescribed movements"
  import Modelica.Mechanics.Rotational.Interfaces;
  import Modelica.Units.SI;

  model Torque "A torque that is a signal"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2;
    Modelica.Blocks.Interfaces.RealInput tau(unit="N.m");
  equation
    flange.tau = -tau;
  end Torque;

  model Torque2 "A torque between two flanges that is a signal"
    extends Interfaces.PartialTwoFlanges;
    Modelica.Blocks.Interfaces.RealInput tau(unit="N.m");
  equation
    flange_a.tau = tau;
    flange_b.tau = -tau;
  end Torque2;

  model ConstantTorque
    extends Interfaces.PartialTorque;
    parameter SI.Torque tau_constant "Accelerates where positive";
    SI.AngularVelocity w;
    SI.Torque tau "On the component";
  equation
    w = der(phi);
    tau = -flange.tau;
    tau = tau_constant;
  end ConstantTorque;

  model LinearSpeedDependentTorque "A torque in proportion to the speed"
    extends Interfaces.PartialTorque;
    parameter SI.Torque tau_nominal "At w_nominal; a load where negative";
    parameter Boolean TorqueDirection = true "Whether it turns round with the speed";
    parameter SI.AngularVelocity w_nominal(min=Modelica.Constants.eps);
    SI.AngularVelocity w;
    SI.Torque tau;
  equation
    w = der(phi);
    tau = -flange.tau;
    if TorqueDirection then
      tau = tau_nominal*(w/w_nominal);
    else
      tau = tau_nominal*abs(w/w_nominal);
    end if;
  end LinearSpeedDependentTorque;

  model QuadraticSpeedDependentTorque "A torque in proportion to the square of the speed"
    extends Interfaces.PartialTorque;
    parameter SI.Torque tau_nominal "At w_nominal; a load where negative";
    parameter Boolean TorqueDirection = true "Whether it turns round with the speed";
    parameter SI.AngularVelocity w_nominal(min=Modelica.Constants.eps);
    SI.AngularVelocity w;
    SI.Torque tau;
  equation
    w = der(phi);
    tau = -flange.tau;
    if TorqueDirection then
      tau = tau_nominal*smooth(1, if w >= 0 then (w/w_nominal)^2 else -(w/w_nominal)^2);
    else
      tau = tau_nominal*(w/w_nominal)^2;
    end if;
  end QuadraticSpeedDependentTorque;

  model ConstantSpeed
    extends Interfaces.PartialTorque;
    parameter SI.AngularVelocity w_fixed;
    SI.AngularVelocity w;
  equation
    w = der(phi);
    w = w_fixed;
  end ConstantSpeed;

  model Position "Moves as a signal says, or as its second-order Bessel filter does"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2;
    parameter Boolean exact = false "Whether the signal is followed itself; it must have two derivatives";
    parameter SI.Frequency f_crit = 50 "Of the filter";
    SI.Angle phi(stateSelect=if exact then StateSelect.default else StateSelect.prefer) "Against the housing";
    SI.AngularVelocity w(start=0, stateSelect=if exact then StateSelect.default else StateSelect.prefer);
    SI.AngularAcceleration a(start=0);
    Modelica.Blocks.Interfaces.RealInput phi_ref(final quantity="Angle", final unit="rad", displayUnit="deg");
  protected
    parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
    constant Real af = 1.3617 "1.3617 s + 0.618 s^2 + 1 is the Bessel polynomial that falls by 3 dB at 1 rad/s";
    constant Real bf = 0.6180;
  initial equation
    if not exact then
      phi = phi_ref;
    end if;
  equation
    phi = flange.phi - phi_support;
    if exact then
      phi = phi_ref;
      w = 0;
      a = 0;
    else
      w = der(phi);
      a = der(w);
      bf*a = w_crit*(w_crit*(phi_ref - phi) - af*w);
    end if;
  end Position;

  model Speed "Moves as fast as a signal says, or as its first-order filter does"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2;
    parameter Boolean exact = false "Whether the signal is followed itself; it must have a derivative";
    parameter SI.Frequency f_crit = 50 "Of the filter";
    SI.Angle phi(start=0, fixed=true, stateSelect=StateSelect.prefer) "Against the housing";
    SI.AngularVelocity w(stateSelect=if exact then StateSelect.default else StateSelect.prefer);
    SI.AngularAcceleration a;
    Modelica.Blocks.Interfaces.RealInput w_ref(final quantity="AngularVelocity", final unit="rad/s");
  protected
    parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
  initial equation
    if not exact then
      w = w_ref;
    end if;
  equation
    phi = flange.phi - phi_support;
    w = der(phi);
    if exact then
      w = w_ref;
      a = 0;
    else
      a = der(w);
      a = w_crit*(w_ref - w);
    end if;
  end Speed;
end Sources;
