within Modelica.Blocks;
package Sources "Signals"
  import Modelica.Constants.pi;
  import Modelica.Units.SI;
  import Modelica.Blocks.Interfaces;

  block RealExpression "What an expression of time and other variables is"
    Interfaces.RealOutput y = 0.0;
  end RealExpression;

  block IntegerExpression "What an expression is"
    Interfaces.IntegerOutput y = 0;
  end IntegerExpression;

  block BooleanExpression "What an expression is"
    Interfaces.BooleanOutput y = false;
  end BooleanExpression;

  block ContinuousClock "Time"
    extends Interfaces.SignalSource;
  equation
    y = offset + (if time < startTime then 0 else time - startTime);
  end ContinuousClock;

  block Clock = ContinuousClock "Name of version 3";

  block Constant "A number"
    parameter Real k(start=1);
    extends Interfaces.SO;
  equation
    y = k;
  end Constant;

  block Step "A step"
    parameter Real height = 1;
    extends Interfaces.SignalSource;
  equation
    y = offset + (if time < startTime then 0 else height);
  end Step;

  block Ramp "A straight rise"
    parameter Real height = 1;
    parameter SI.Time duration(min=0.0, start=2);
    extends Interfaces.SignalSource;
  equation
    y = offset + (if time < startTime then 0 else if time < startTime + duration then
      (time - startTime)*height/duration else height);
  end Ramp;

  block Sine "A sine"
    parameter Real amplitude = 1;
    parameter SI.Frequency f(start=1);
    parameter SI.Angle phase = 0;
    parameter Boolean continuous = false "Whether it begins without a jump";
    extends Interfaces.SignalSource;
  equation
    if continuous then
      y = offset + amplitude*sin((if time < startTime then 0 else 2*pi*f*(time - startTime)) + phase);
    else
      y = offset + (if time < startTime then 0 else amplitude*sin(2*pi*f*(time - startTime) + phase));
    end if;
  end Sine;

  block Cosine "A cosine"
    parameter Real amplitude = 1;
    parameter SI.Frequency f(start=1);
    parameter SI.Angle phase = 0;
    parameter Boolean continuous = false "Whether it begins without a jump";
    extends Interfaces.SignalSource;
  equation
    if continuous then
      y = offset + amplitude*cos((if time < startTime then 0 else 2*pi*f*(time - startTime)) + phase);
    else
      y = offset + (if time < startTime then 0 else amplitude*cos(2*pi*f*(time - startTime) + phase));
    end if;
  end Cosine;

  block ExpSine "A sine that decays"
    parameter Real amplitude = 1;
    parameter SI.Frequency f(start=2);
    parameter SI.Angle phase = 0;
    parameter SI.DampingCoefficient damping(start=1);
    extends Interfaces.SignalSource;
  equation
    y = offset + (if time < startTime then 0 else
      amplitude*exp(-damping*(time - startTime))*sin(2*pi*f*(time - startTime) + phase));
  end ExpSine;

  block Exponentials "Rises to a limit, and falls back"
    parameter Real outMax = 1 "What it would reach";
    parameter SI.Time riseTime(min=0, start=0.5);
    parameter SI.Time riseTimeConst(min=Modelica.Constants.small) = 0.1;
    parameter SI.Time fallTimeConst(min=Modelica.Constants.small) = riseTimeConst;
    extends Interfaces.SignalSource;
  protected
    Real y_riseTime;
  equation
    y_riseTime = outMax*(1 - exp(-riseTime/riseTimeConst));
    y = offset + (if time < startTime then 0 else if time < startTime + riseTime then
      outMax*(1 - exp(-(time - startTime)/riseTimeConst)) else
      y_riseTime*exp(-(time - startTime - riseTime)/fallTimeConst));
  end Exponentials;

  block Pulse "Pulses"
    parameter Real amplitude = 1;
    parameter Real width(final min=Modelica.Constants.small, final max=100) = 50 "Percent of the period";
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter Integer nperiod = -1 "Number of periods; unlimited where negative";
    extends Interfaces.SignalSource;
  protected
    SI.Time T_width = period*width/100;
    discrete SI.Time T_start "When this period began";
    Integer count "Periods before this one";
  initial algorithm
    count := integer((time - startTime)/period);
    T_start := startTime + count*period;
  equation
    when integer((time - startTime)/period) > pre(count) then
      count = pre(count) + 1;
      T_start = time;
    end when;
    y = offset + (if time < startTime or nperiod == 0 or (nperiod > 0 and count >= nperiod) then 0 else
      if time < T_start + T_width then amplitude else 0);
  end Pulse;

  block SawTooth "Saw teeth"
    parameter Real amplitude = 1;
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter Integer nperiod = -1 "Number of periods; unlimited where negative";
    extends Interfaces.SignalSource;
  protected
    discrete SI.Time T_start(final start=startTime) "When this period began";
    Integer count "Periods before this one";
  initial algorithm
    count := integer((time - startTime)/period);
    T_start := startTime + count*period;
  equation
    when integer((time - startTime)/period) > pre(count) then
      count = pre(count) + 1;
      T_start = time;
    end when;
    y = offset + (if time < startTime or nperiod == 0 or (nperiod > 0 and count >= nperiod) then 0 else
      amplitude*(time - T_start)/period);
  end SawTooth;

  block Trapezoid "Trapezoids"
    parameter Real amplitude = 1;
    parameter SI.Time rising(final min=0) = 0;
    parameter SI.Time width(final min=0) = 0.5;
    parameter SI.Time falling(final min=0) = 0;
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter Integer nperiod = -1 "Number of periods; unlimited where negative";
    extends Interfaces.SignalSource;
  protected
    parameter SI.Time T_rising = rising "Ends of the phases, within the period";
    parameter SI.Time T_width = T_rising + width;
    parameter SI.Time T_falling = T_width + falling;
    discrete SI.Time T_start "When this period began";
    Integer count "Periods before this one";
  initial algorithm
    count := integer((time - startTime)/period);
    T_start := startTime + count*period;
  equation
    when integer((time - startTime)/period) > pre(count) then
      count = pre(count) + 1;
      T_start = time;
    end when;
    y = offset + (if time < startTime or nperiod == 0 or (nperiod > 0 and count >= nperiod) then 0 else
      if time < T_start + T_rising then amplitude*(time - T_start)/rising else
      if time < T_start + T_width then amplitude else
      if time < T_start + T_falling then amplitude*(T_start + T_falling - time)/falling else 0);
  end Trapezoid;

  block BooleanConstant "A Boolean"
    parameter Boolean k = true;
    extends Interfaces.partialBooleanSource;
  equation
    y = k;
  end BooleanConstant;

  block BooleanStep "Changes once"
    parameter SI.Time startTime = 0;
    parameter Boolean startValue = false;
    extends Interfaces.partialBooleanSource;
  equation
    y = if time >= startTime then not startValue else startValue;
  end BooleanStep;

  block BooleanPulse "On and off"
    parameter Real width(final min=Modelica.Constants.small, final max=100) = 50 "Percent of the period";
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter SI.Time startTime = 0;
    extends Interfaces.partialBooleanSource;
  protected
    parameter SI.Time Twidth = period*width/100;
    discrete SI.Time pulseStart "When the last pulse began";
  initial equation
    pulseStart = startTime;
  equation
    when sample(startTime, period) then
      pulseStart = time;
    end when;
    y = time >= pulseStart and time < pulseStart + Twidth;
  end BooleanPulse;
end Sources;
