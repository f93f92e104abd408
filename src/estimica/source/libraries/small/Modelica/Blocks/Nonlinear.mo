within Modelica.Blocks;
package Nonlinear "Limits and dead zones"
  import Modelica.Blocks.Interfaces;
  import Modelica.Blocks.Types.LimiterHomotopy;

  block Limiter "Between two limits"
    parameter Real uMax(start=1);
    parameter Real uMin = -uMax;
    parameter Boolean strict = false "Whether the limits make no events";
    parameter LimiterHomotopy homotopyType = LimiterHomotopy.Linear "What initialisation begins with";
    extends Interfaces.SISO;
  protected
    Real simplifiedExpr;
  equation
    simplifiedExpr = if homotopyType == LimiterHomotopy.Linear then u else
      if homotopyType == LimiterHomotopy.UpperLimit then uMax else
      if homotopyType == LimiterHomotopy.LowerLimit then uMin else 0;
    y = homotopy(if strict then smooth(0, noEvent(if u > uMax then uMax else if u < uMin then uMin else u))
      else smooth(0, if u > uMax then uMax else if u < uMin then uMin else u), simplifiedExpr);
  end Limiter;

  block VariableLimiter "Between two limits that vary"
    extends Interfaces.SISO;
    parameter Boolean strict = false "Whether the limits make no events";
    parameter LimiterHomotopy homotopyType = LimiterHomotopy.Linear "What initialisation begins with";
    parameter Real ySimplified = 0 "With what it begins, for homotopyType NoHomotopy";
    Interfaces.RealInput limit1 "Upper limit";
    Interfaces.RealInput limit2 "Lower limit";
  protected
    Real simplifiedExpr;
  equation
    simplifiedExpr = if homotopyType == LimiterHomotopy.Linear then u else
      if homotopyType == LimiterHomotopy.UpperLimit then limit1 else
      if homotopyType == LimiterHomotopy.LowerLimit then limit2 else ySimplified;
    y = homotopy(if strict then
      smooth(0, noEvent(if u > limit1 then limit1 else if u < limit2 then limit2 else u))
      else smooth(0, if u > limit1 then limit1 else if u < limit2 then limit2 else u), simplifiedExpr);
  end VariableLimiter;

  block DeadZone "Zero between two limits"
    parameter Real uMax(start=1);
    parameter Real uMin = -uMax;
    extends Interfaces.SISO;
  equation
    y = homotopy(smooth(0, if u > uMax then u - uMax else if u < uMin then u - uMin else 0), u);
  end DeadZone;

  block FixedDelay "What the input was before"
    extends Interfaces.SISO;
    parameter Modelica.Units.SI.Time delayTime(start=1);
  equation
    y = delay(u, delayTime);
  end FixedDelay;
end Nonlinear;
