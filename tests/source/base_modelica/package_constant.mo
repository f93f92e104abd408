// a constant beside the model, used in a function too
package PackageConstant
  constant Real g = 9.81;
  function weight
    input Real m;
    output Real F;
  algorithm
    F := m * g;
  end weight;
  model Fall
    parameter Real m = 2.0;
    Real v(start = 0.0, fixed = true);
  equation
    m * der(v) = weight(m) - 0.5 * v;
    annotation(experiment(StopTime = 1.0));
  end Fall;
end PackageConstant;
