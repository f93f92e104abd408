  partial model PLaw
    parameter Real a = 1;
    parameter Real b = 10;
    Real y;
  end PLaw;
  model Law
    extends PLaw;
  equation
    y = a + b;
  end Law;
  model Law2
    extends PLaw(b = 20);
    parameter Real c = 100;
  equation
    y = a + b + c;
  end Law2;
  model Host
    replaceable model L = Law constrainedby PLaw;
    L l;
  end Host;
  model HostC
    replaceable Law l constrainedby PLaw;
  end HostC;
  model HostD
    replaceable model L = Law(a = 2) constrainedby PLaw;
    L l;
  end HostD;
  model HostK
    replaceable model L = Law constrainedby PLaw(a = 3);
    L l;
  end HostK;
  model HostM
    replaceable model L = Law constrainedby PLaw;
    L l(b = 40);
  end HostM;
