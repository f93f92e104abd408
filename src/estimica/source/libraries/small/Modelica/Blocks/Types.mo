within Modelica.Blocks;
package Types "Choices"
  type Init = enumeration(NoInit, SteadyState, InitialState, InitialOutput)
    "How a block begins: not said, at rest, with its states, with its output";
  type SimpleController = enumeration(P, PI, PD, PID);
  type LimiterHomotopy = enumeration(NoHomotopy, Linear, UpperLimit, LowerLimit);
end Types;
