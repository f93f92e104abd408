within Modelica.Mechanics.Translational;
package Sources "Forces and prescribed movements"
  import Modelica.Mechanics.Translational.Interfaces;
  import Modelica.Units.SI;

  model Force "A force that is a signal"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2;
    Modelica.Blocks.Interfaces.RealInput f(unit="N");
  equation
    flange.f = -f;
  end Force;

  model Force2 "A force between two flanges that is a signal"
    extends Interfaces.PartialTwoFlanges;
    Modelica.Blocks.Interfaces.RealInput f(unit="N");
  equation
    flange_a.f = f;
    flange_b.f = -f;
  end Force2;

  model ConstantForce
    extends Interfaces.PartialForce;
    parameter SI.Force f_constant "Accelerates where positive";
  equation
    f = -f_constant;
  end ConstantForce;

  model Position "Moves as a signal says, or as its second-order Bessel filter does"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2(s(stateSelect=if exact then StateSelect.default else StateSelect.prefer));
    parameter Boolean exact = false "Whether the signal is followed itself; it must have two derivatives";
    parameter SI.Frequency f_crit = 50 "Of the filter";
    SI.Velocity v(start=0, stateSelect=if exact then StateSelect.default else StateSelect.prefer);
    SI.Acceleration a(start=0);
    Modelica.Blocks.Interfaces.RealInput s_ref(final quantity="Length", final unit="m");
  protected
    parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
    constant Real af = 1.3617 "1.3617 s + 0.618 s^2 + 1 is the Bessel polynomial that falls by 3 dB at 1 rad/s";
    constant Real bf = 0.6180;
  initial equation
    if not exact then
      s = s_ref;
    end if;
  equation
    if exact then
      s = s_ref;
      v = 0;
      a = 0;
    else
      v = der(s);
      a = der(v);
      bf*a = w_crit*(w_crit*(s_ref - s) - af*v);
    end if;
  end Position;

  model Speed "Moves as fast as a signal says, or as its first-order filter does"
    extends Interfaces.PartialElementaryOneFlangeAndSupport2(s(start=0, fixed=true, stateSelect=StateSelect.prefer));
    parameter Boolean exact = false "Whether the signal is followed itself; it must have a derivative";
    parameter SI.Frequency f_crit = 50 "Of the filter";
    SI.Velocity v(stateSelect=if exact then StateSelect.default else StateSelect.prefer);
    SI.Acceleration a;
    Modelica.Blocks.Interfaces.RealInput v_ref(final quantity="Velocity", final unit="m/s");
  protected
    parameter SI.AngularFrequency w_crit = 2*Modelica.Constants.pi*f_crit;
  initial equation
    if not exact then
      v = v_ref;
    end if;
  equation
    v = der(s);
    if exact then
      v = v_ref;
      a = 0;
    else
      a = der(v);
      a = w_crit*(v_ref - v);
    end if;
  end Speed;
end Sources;
