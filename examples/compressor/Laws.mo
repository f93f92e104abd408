package Laws "Correlations of compressors"
  function efficiency "Volumetric efficiency of a swash-plate compressor"
    input Real n(unit = "Hz") "Speed";
    input Real pi(unit = "1") "Pressure ratio";
    input Real pi0(unit = "1") = 10 "Largest pressure ratio";
    input Real a0, a1, a2 "Coefficients of the speed";
    output Real lambda(unit = "1") "Volumetric efficiency";
  algorithm
    lambda := ((pi0 - pi)/(pi0 - 1))^2*(a0 + a1*n + a2*n^2);
  end efficiency;
end Laws;
