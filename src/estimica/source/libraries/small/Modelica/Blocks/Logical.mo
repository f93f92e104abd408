within Modelica.Blocks;
package Logical "Comparisons and Booleans"
  import Modelica.Blocks.Interfaces;

  block And
    extends Interfaces.partialBooleanSI2SO;
  equation
    y = u1 and u2;
  end And;

  block Or
    extends Interfaces.partialBooleanSI2SO;
  equation
    y = u1 or u2;
  end Or;

  block Xor "One of them, not both"
    extends Interfaces.partialBooleanSI2SO;
  equation
    y = u1 <> u2;
  end Xor;

  block Not
    extends Interfaces.partialBooleanSISO;
  equation
    y = not u;
  end Not;

  block GreaterThreshold
    extends Interfaces.partialBooleanThresholdComparison;
  equation
    y = u > threshold;
  end GreaterThreshold;

  block GreaterEqualThreshold
    extends Interfaces.partialBooleanThresholdComparison;
  equation
    y = u >= threshold;
  end GreaterEqualThreshold;

  block LessThreshold
    extends Interfaces.partialBooleanThresholdComparison;
  equation
    y = u < threshold;
  end LessThreshold;

  block LessEqualThreshold
    extends Interfaces.partialBooleanThresholdComparison;
  equation
    y = u <= threshold;
  end LessEqualThreshold;

  block Greater
    extends Interfaces.partialBooleanComparison;
  equation
    y = u1 > u2;
  end Greater;

  block GreaterEqual
    extends Interfaces.partialBooleanComparison;
  equation
    y = u1 >= u2;
  end GreaterEqual;

  block Less
    extends Interfaces.partialBooleanComparison;
  equation
    y = u1 < u2;
  end Less;

  block LessEqual
    extends Interfaces.partialBooleanComparison;
  equation
    y = u1 <= u2;
  end LessEqual;

  block Switch "One of two signals"
    Interfaces.RealInput u1 "Passed where u2 holds";
    Interfaces.BooleanInput u2;
    Interfaces.RealInput u3 "Passed elsewhere";
    Interfaces.RealOutput y;
  equation
    y = if u2 then u1 else u3;
  end Switch;

  block Hysteresis "On above uHigh, off below uLow, as before between them"
    parameter Real uLow(start=0);
    parameter Real uHigh(start=1);
    parameter Boolean pre_y_start = false "Before the beginning";
    Interfaces.RealInput u;
    Interfaces.BooleanOutput y;
  initial equation
    pre(y) = pre_y_start;
  equation
    assert(uHigh > uLow, "uHigh must be larger than uLow");
    y = not pre(y) and u > uHigh or pre(y) and u >= uLow;
  end Hysteresis;

  block OnOffController "Two-point controller"
    Interfaces.RealInput reference;
    Interfaces.RealInput u "Measurement";
    Interfaces.BooleanOutput y "Whether u is to rise";
    parameter Real bandwidth(start=0.1) "Width of the band around the reference";
    parameter Boolean pre_y_start = false "Before the beginning";
  initial equation
    pre(y) = pre_y_start;
  equation
    y = pre(y) and u < reference + bandwidth/2 or u < reference - bandwidth/2;
  end OnOffController;
end Logical;
