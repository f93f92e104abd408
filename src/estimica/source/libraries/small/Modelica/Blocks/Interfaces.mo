within Modelica.Blocks;
package Interfaces "Connectors and what blocks have in common"
  connector RealInput = input Real;
  connector RealOutput = output Real;
  connector BooleanInput = input Boolean;
  connector BooleanOutput = output Boolean;
  connector IntegerInput = input Integer;
  connector IntegerOutput = output Integer;
  connector RealVectorInput = input Real;

  partial block SO "One output"
    RealOutput y;
  end SO;

  partial block MO "Several outputs"
    parameter Integer nout(min=1) = 1 "Number of outputs";
    RealOutput y[nout];
  end MO;

  partial block SISO "One input, one output"
    RealInput u;
    RealOutput y;
  end SISO;

  partial block SI2SO "Two inputs, one output"
    RealInput u1;
    RealInput u2;
    RealOutput y;
  end SI2SO;

  partial block SIMO "One input, several outputs"
    parameter Integer nout = 1 "Number of outputs";
    RealInput u;
    RealOutput y[nout];
  end SIMO;

  partial block MISO "Several inputs, one output"
    parameter Integer nin = 1 "Number of inputs";
    RealInput u[nin];
    RealOutput y;
  end MISO;

  partial block MIMO "Several inputs and outputs"
    parameter Integer nin = 1 "Number of inputs";
    parameter Integer nout = 1 "Number of outputs";
    RealInput u[nin];
    RealOutput y[nout];
  end MIMO;

  partial block MIMOs "As many inputs as outputs"
    parameter Integer n = 1 "Number of inputs and of outputs";
    RealInput u[n];
    RealOutput y[n];
  end MIMOs;

  partial block SignalSource "A signal with an offset that begins at a time"
    extends SO;
    parameter Real offset = 0 "Added to the signal";
    parameter Modelica.Units.SI.Time startTime = 0 "The output is the offset before";
  end SignalSource;

  partial block SVcontrol "A controller of one quantity"
    RealInput u_s "Set point";
    RealInput u_m "Measurement";
    RealOutput y;
  end SVcontrol;

  partial block partialBooleanSource "A source of a Boolean"
    BooleanOutput y;
  end partialBooleanSource;

  partial block partialBooleanSISO "One Boolean input and output"
    BooleanInput u;
    BooleanOutput y;
  end partialBooleanSISO;

  partial block partialBooleanSI2SO "Two Boolean inputs, one output"
    BooleanInput u1;
    BooleanInput u2;
    BooleanOutput y;
  end partialBooleanSI2SO;

  partial block partialBooleanThresholdComparison "Compares with a number"
    parameter Real threshold = 0;
    RealInput u;
    BooleanOutput y;
  end partialBooleanThresholdComparison;

  partial block partialBooleanComparison "Compares two numbers"
    RealInput u1;
    RealInput u2;
    BooleanOutput y;
  end partialBooleanComparison;
end Interfaces;
