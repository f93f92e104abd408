"""Models of parts of the small library; together they use each part of it."""

from __future__ import annotations

CIRCUITS = """model Circuits
  import Modelica.Electrical.Analog.{Basic, Sources, Sensors, Ideal};
  Basic.Ground g;
  Sources.StepVoltage step(V=2, startTime=0.1);
  Basic.Resistor r(R=3, alpha=0.004, T=320);
  Basic.Capacitor c(C=0.5, v(start=0, fixed=true));
  Sensors.VoltageSensor vs;
  Sensors.CurrentSensor cs;
  Sensors.PotentialSensor ps;
  Sensors.PowerSensor power;
  Sources.SineVoltage sine(V=1.5, f=0.5, phase=0.2, offset=0.1, startTime=0.2);
  Basic.Conductor con(G=0.7);
  Basic.Inductor l(L=0.4, i(start=0.1, fixed=true));
  Ideal.IdealDiode d(Vknee=0.1);
  Sources.CosineVoltage cosine(V=1, f=1);
  Basic.Resistor load(R=10);
  Sources.RampVoltage ramp(V=4, duration=1.5);
  Basic.VariableResistor vr;
  Sources.ConstantCurrent cc(I=0.3);
  Basic.Resistor rc(R=2);
  Sources.SignalCurrent sc;
  Basic.Resistor rs(R=2);
  Ideal.IdealClosingSwitch closing;
  Ideal.IdealOpeningSwitch opening;
  Basic.Resistor ra(R=5);
  Basic.Resistor rb(R=6);
  Sources.ConstantVoltage dc(V=12);
  Modelica.Blocks.Sources.BooleanStep on(startTime=0.7);
equation
  connect(step.p, cs.p);
  connect(cs.n, power.pc);
  connect(power.nc, r.p);
  connect(power.pv, r.p);
  connect(power.nv, g.p);
  connect(r.n, c.p);
  connect(c.n, g.p);
  connect(step.n, g.p);
  connect(vs.p, c.p);
  connect(vs.n, g.p);
  connect(ps.p, c.p);
  connect(sine.p, con.p);
  connect(con.n, l.p);
  connect(l.n, sine.n);
  connect(sine.n, g.p);
  connect(cosine.p, d.p);
  connect(d.n, load.p);
  connect(load.n, cosine.n);
  connect(cosine.n, g.p);
  connect(ramp.p, vr.p);
  connect(vr.n, ramp.n);
  connect(ramp.n, g.p);
  vr.R = 1 + time;
  connect(cc.p, rc.p);
  connect(cc.n, rc.n);
  connect(cc.n, g.p);
  connect(sc.p, rs.p);
  connect(sc.n, rs.n);
  connect(sc.n, g.p);
  sc.i = sin(time);
  connect(dc.p, closing.p);
  connect(dc.p, opening.p);
  connect(closing.n, ra.p);
  connect(opening.n, rb.p);
  connect(ra.n, g.p);
  connect(rb.n, g.p);
  connect(dc.n, g.p);
  connect(on.y, closing.control);
  connect(on.y, opening.control);
end Circuits;
"""

PORTS = """model Ports
  import Modelica.Electrical.Analog.{Basic, Sources, Ideal};
  Basic.Ground g;
  Sources.PulseVoltage pulse(V=3, width=30, period=0.7);
  Sources.SawToothVoltage saw(V=2, period=0.9);
  Sources.TrapezoidVoltage trap(V=2, rising=0.1, width=0.3, falling=0.2, period=1);
  Sources.ExpSineVoltage exps(V=2, f=1.5, damping=0.7);
  Basic.VCV vcv(gain=2);
  Basic.VCC vcc(transConductance=0.5);
  Basic.CCV ccv(transResistance=4);
  Basic.CCC ccc(gain=3);
  Basic.Gyrator gyr(G1=0.5, G2=0.25);
  Basic.Resistor r1(R=2), r2(R=3), r3(R=4), r4(R=5), r5(R=6), r6(R=1), r7(R=1);
  Basic.Resistor rin(R=2), rfb(R=7);
  Ideal.IdealOpAmp3Pin op;
  Sources.StepCurrent stepI(I=1, startTime=0.4);
  Sources.RampCurrent rampI(I=1, duration=1);
  Sources.SineCurrent sineI(I=1, f=1);
  Sources.CosineCurrent cosI(I=1, f=1);
  Sources.PulseCurrent pulseI(I=1, width=40, period=0.8);
  Sources.SawToothCurrent sawI(I=1, period=0.6);
  Sources.TrapezoidCurrent trapI(I=1, rising=0.2, width=0.2, falling=0.2, period=0.9);
  Sources.ExpSineCurrent expI(I=1, f=1, damping=0.5);
equation
  connect(pulse.p, vcv.p1); connect(vcv.p2, r1.p);
  connect(saw.p, vcc.p1); connect(vcc.p2, r2.p);
  connect(trap.p, r6.p); connect(r6.n, ccv.p1); connect(ccv.p2, r3.p);
  connect(exps.p, r7.p); connect(r7.n, ccc.p1); connect(ccc.p2, r4.p);
  connect(pulse.p, gyr.p1); connect(gyr.p2, r5.p);
  connect(pulse.p, rin.p); connect(rin.n, op.in_n); connect(op.in_n, rfb.p); connect(rfb.n, op.out);
  connect(op.in_p, g.p);
  connect(pulse.n, g.p); connect(saw.n, g.p); connect(trap.n, g.p); connect(exps.n, g.p);
  connect(vcv.n1, g.p); connect(vcv.n2, g.p); connect(vcc.n1, g.p); connect(vcc.n2, g.p);
  connect(ccv.n1, g.p); connect(ccv.n2, g.p); connect(ccc.n1, g.p); connect(ccc.n2, g.p);
  connect(gyr.n1, g.p); connect(gyr.n2, g.p);
  connect(r1.n, g.p); connect(r2.n, g.p); connect(r3.n, g.p); connect(r4.n, g.p); connect(r5.n, g.p);
  connect(stepI.p, r1.p); connect(rampI.p, r1.p); connect(sineI.p, r1.p); connect(cosI.p, r1.p);
  connect(pulseI.p, r2.p); connect(sawI.p, r2.p); connect(trapI.p, r2.p); connect(expI.p, r2.p);
  connect(stepI.n, g.p); connect(rampI.n, g.p); connect(sineI.n, g.p); connect(cosI.n, g.p);
  connect(pulseI.n, g.p); connect(sawI.n, g.p); connect(trapI.n, g.p); connect(expI.n, g.p);
end Ports;
"""

MOTOR = """model Motor
  import Modelica.Electrical.Analog.{Basic, Sources};
  import Modelica.Mechanics.Rotational;
  import Modelica.Mechanics.Translational;
  Basic.Ground g;
  Sources.SignalVoltage source;
  Basic.Resistor r(R=0.5, useHeatPort=true);
  Basic.Inductor l(L=0.05, i(start=0, fixed=true));
  Basic.RotationalEMF emf(k=0.3);
  Rotational.Components.Inertia rotor(J=0.01, phi(start=0, fixed=true), w(start=0, fixed=true));
  Rotational.Components.Damper friction(d=0.002);
  Rotational.Components.Fixed housing;
  Rotational.Sensors.SpeedSensor w;
  Rotational.Sensors.TorqueSensor torque;
  Rotational.Sensors.PowerSensor shaft;
  Modelica.Thermal.HeatTransfer.Components.HeatCapacitor winding(C=20, T(start=300, fixed=true));
  Modelica.Thermal.HeatTransfer.Components.ThermalConductor cooling(G=0.8);
  Modelica.Thermal.HeatTransfer.Sources.FixedTemperature room(T=293.15);
  Basic.TranslationalEMF coil(k=5);
  Basic.Resistor rt(R=2);
  Translational.Components.Mass armature(m=0.2, s(start=0, fixed=true), v(start=0, fixed=true));
equation
  source.v = if time < 0.1 then 0 else 6;
  connect(source.p, r.p); connect(r.n, l.p); connect(l.n, emf.p); connect(emf.n, source.n);
  connect(source.n, g.p);
  connect(emf.flange, torque.flange_a); connect(torque.flange_b, shaft.flange_a);
  connect(shaft.flange_b, rotor.flange_a);
  connect(rotor.flange_b, friction.flange_a); connect(friction.flange_b, housing.flange);
  connect(w.flange, rotor.flange_b);
  connect(r.heatPort, winding.port); connect(winding.port, cooling.port_a);
  connect(cooling.port_b, room.port);
  connect(source.p, rt.p); connect(rt.n, coil.p); connect(coil.n, g.p);
  connect(coil.flange, armature.flange_a);
end Motor;
"""

SHAFTS = """model Shafts
  import Modelica.Mechanics.Rotational.{Components, Sources, Sensors};
  import Modelica.Mechanics.Translational;
  Components.Inertia a(J=2, phi(start=0, fixed=true), w(start=0, fixed=true));
  Components.SpringDamper sd(c=40, d=1.5, phi_rel0=0.1);
  Components.Inertia b(J=1, phi(start=0.1, fixed=true), w(start=0, fixed=true));
  Components.IdealGear gear(ratio=4);
  Components.Spring spring(c=30);
  Components.Fixed wall(phi0=0.05);
  Components.Disc disc(deltaPhi=0.3);
  Sources.Torque torque;
  Sensors.AngleSensor angle;
  Sensors.AccSensor acc;
  Sensors.RelAngleSensor rel;
  Sensors.RelSpeedSensor relw;
  Sources.ConstantTorque ct(tau_constant=3);
  Components.Inertia c(J=0.5, phi(start=0, fixed=true), w(start=0, fixed=true));
  Sources.QuadraticSpeedDependentTorque fan(tau_nominal=-2, w_nominal=10);
  Sources.LinearSpeedDependentTorque brake(tau_nominal=-1, w_nominal=20);
  Sources.ConstantSpeed cs(w_fixed=2);
  Components.Damper dc(d=0.3);
  Components.Inertia e(J=0.4, phi(start=0, fixed=true), w(start=0, fixed=true));
  Sources.Position pos(f_crit=2);
  Components.SpringDamper sp(c=10, d=1);
  Components.Inertia f(J=0.3, phi(start=0, fixed=true), w(start=0, fixed=true));
  Sources.Speed spd(f_crit=3);
  Components.Damper ds(d=1);
  Components.Inertia h(J=0.3, phi(start=0, fixed=true), w(start=0, fixed=true));
  Sources.Torque2 t2;
  Components.IdealGearR2T rack(ratio=5);
  Translational.Components.Mass m(m=3);
equation
  torque.tau = 5*sin(3*time);
  connect(torque.flange, a.flange_a); connect(a.flange_b, sd.flange_a); connect(sd.flange_b, b.flange_a);
  connect(b.flange_b, gear.flange_a); connect(gear.flange_b, disc.flange_a);
  connect(disc.flange_b, spring.flange_a); connect(spring.flange_b, wall.flange);
  connect(angle.flange, b.flange_b); connect(acc.flange, a.flange_b);
  connect(rel.flange_a, a.flange_b); connect(rel.flange_b, b.flange_a);
  connect(relw.flange_a, a.flange_b); connect(relw.flange_b, b.flange_a);
  connect(ct.flange, c.flange_a); connect(fan.flange, c.flange_b); connect(brake.flange, c.flange_b);
  connect(cs.flange, dc.flange_a); connect(dc.flange_b, e.flange_a); connect(e.flange_b, rack.flangeR);
  connect(rack.flangeT, m.flange_a);
  pos.phi_ref = sin(time); connect(pos.flange, sp.flange_a); connect(sp.flange_b, f.flange_a);
  spd.w_ref = cos(2*time); connect(spd.flange, ds.flange_a); connect(ds.flange_b, h.flange_a);
  t2.tau = 0.2; connect(t2.flange_a, f.flange_b); connect(t2.flange_b, h.flange_b);
end Shafts;
"""

RODS = """model Rods
  import Modelica.Mechanics.Translational.{Components, Sources, Sensors};
  Sources.Force force;
  Components.Mass a(m=2, L=0.4, s(start=0.2, fixed=true), v(start=0, fixed=true));
  Components.SpringDamper sd(c=50, d=2, s_rel0=0.1);
  Components.Rod rod(L=0.3);
  Components.Mass b(m=1, s(start=0.6, fixed=true), v(start=0.1, fixed=true));
  Components.Spring spring(c=20, s_rel0=0.2);
  Components.Damper damper(d=1.2);
  Components.Fixed wall(s0=1);
  Sensors.PositionSensor s;
  Sensors.SpeedSensor v;
  Sensors.AccSensor acc;
  Sensors.ForceSensor f;
  Sensors.RelPositionSensor rel;
  Sensors.RelSpeedSensor relv;
  Sensors.PowerSensor power;
  Sources.ConstantForce cf(f_constant=-2);
  Components.Mass c(m=1, s(start=0, fixed=true), v(start=0, fixed=true));
  Sources.Position pos(f_crit=2);
  Components.SpringDamper sp(c=10, d=1);
  Sources.Speed spd(f_crit=3);
  Components.Damper ds(d=1);
  Sources.Force2 f2;
equation
  force.f = 4*sin(5*time);
  connect(force.flange, f.flange_a); connect(f.flange_b, power.flange_a); connect(power.flange_b, a.flange_a);
  connect(a.flange_b, sd.flange_a); connect(sd.flange_b, rod.flange_a); connect(rod.flange_b, b.flange_a);
  connect(b.flange_b, spring.flange_a); connect(spring.flange_b, wall.flange);
  connect(b.flange_b, damper.flange_a); connect(damper.flange_b, wall.flange);
  connect(s.flange, b.flange_a); connect(v.flange, b.flange_a); connect(acc.flange, a.flange_b);
  connect(rel.flange_a, a.flange_b); connect(rel.flange_b, b.flange_a);
  connect(relv.flange_a, a.flange_b); connect(relv.flange_b, b.flange_a);
  connect(cf.flange, c.flange_a);
  pos.s_ref = sin(time); connect(pos.flange, sp.flange_a); connect(sp.flange_b, c.flange_a);
  spd.v_ref = cos(time); connect(spd.flange, ds.flange_a); connect(ds.flange_b, c.flange_b);
  f2.f = 0.3; connect(f2.flange_a, c.flange_a); connect(f2.flange_b, b.flange_a);
end Rods;
"""

ROOM = """model Room
  import Modelica.Thermal.HeatTransfer.{Components, Sources, Sensors, Celsius};
  Components.HeatCapacitor air(C=50, T(start=290, fixed=true));
  Components.HeatCapacitor wall(C=500, T(start=285, fixed=true));
  Components.ThermalResistor r(R=0.5);
  Components.Convection inside;
  Components.ConvectiveResistor outside;
  Components.BodyRadiation sky(Gr=0.4);
  Components.ThermalCollector both(m=2);
  Sources.PrescribedTemperature weather;
  Sources.FixedHeatFlow heater(Q_flow=30, alpha=-0.001);
  Sources.PrescribedHeatFlow sun;
  Sensors.TemperatureSensor t;
  Sensors.RelTemperatureSensor dt;
  Sensors.HeatFlowSensor q;
  Celsius.TemperatureSensor tc;
  Celsius.FixedTemperature ground(T=8);
  Celsius.PrescribedTemperature cellar;
  Celsius.ToKelvin toK;
  Celsius.FromKelvin toC;
  Components.ThermalConductor down(G=0.3), side(G=0.2);
equation
  inside.Gc = 2 + sin(time);
  outside.Rc = 0.3;
  weather.T = 275 + 5*sin(0.3*time);
  sun.Q_flow = 10*time;
  cellar.T = 12;
  toK.Celsius = tc.T;
  toC.Kelvin = t.T;
  connect(air.port, inside.solid); connect(inside.fluid, q.port_a); connect(q.port_b, wall.port);
  connect(wall.port, outside.solid); connect(outside.fluid, weather.port);
  connect(wall.port, sky.port_a); connect(sky.port_b, weather.port);
  connect(heater.port, both.port_a[1]); connect(sun.port, both.port_a[2]); connect(both.port_b, air.port);
  connect(t.port, air.port); connect(tc.port, wall.port); connect(dt.port_a, air.port);
  connect(dt.port_b, wall.port);
  connect(air.port, r.port_a); connect(r.port_b, cellar.port);
  connect(wall.port, down.port_a); connect(down.port_b, ground.port);
  connect(air.port, side.port_a); connect(side.port_b, wall.port);
end Room;
"""

CONTROL = """model Control
  import Modelica.Blocks.{Continuous, Math, Sources, Nonlinear, Logical, Types};
  Sources.Step step(height=2, startTime=0.3);
  Sources.Ramp ramp(height=3, duration=1, offset=0.5);
  Sources.Sine sine(amplitude=1.5, f=0.8, phase=0.3, startTime=0.2);
  Sources.Cosine cosine(f=0.7, continuous=true, startTime=0.4);
  Sources.ExpSine exps(f=1, damping=0.6);
  Sources.Exponentials expo(riseTime=0.7, riseTimeConst=0.3, fallTimeConst=0.5);
  Sources.Pulse pulse(width=30, period=0.7, startTime=0.1, nperiod=2);
  Sources.SawTooth saw(period=0.6, startTime=0.1);
  Sources.Trapezoid trap(rising=0.2, width=0.2, falling=0.1, period=0.8);
  Sources.Constant k(k=1.7);
  Sources.ContinuousClock clock(offset=0.2, startTime=0.5);
  Sources.RealExpression re(y=time^2);
  Sources.IntegerExpression ie(y=3);
  Sources.BooleanExpression be(y=time > 1.1);
  Sources.BooleanConstant bc(k=false);
  Sources.BooleanStep bs(startTime=0.6);
  Sources.BooleanPulse bp(width=40, period=0.5, startTime=0.2);
  Continuous.Integrator int(k=2, y_start=0.1);
  Continuous.Integrator reset(use_reset=true);
  Continuous.Derivative der1(T=0.1, initType=Types.Init.InitialState);
  Continuous.FirstOrder fo(k=2, T=0.4, initType=Types.Init.InitialState, y_start=0.3);
  Continuous.SecondOrder so(w=4, D=0.4, initType=Types.Init.InitialState);
  Continuous.PI pi(k=1.5, T=0.5, initType=Types.Init.InitialState);
  Continuous.PID pid(k=1.2, Ti=0.8, Td=0.1);
  Continuous.TransferFunction tf(b={1, 2}, a={0.5, 1.5, 3}, initType=Types.Init.InitialState);
  Continuous.StateSpace ss(A=[-1, 2; 0, -3], B=[1; 2], C=[1, 0.5], D=[0.2], initType=Types.Init.InitialState);
  Math.Gain gain(k=3); Math.Add add(k1=2, k2=-1); Math.Add3 add3(k3=0.5); Math.Feedback fb;
  Math.Product prod; Math.Division div; Math.Max ma; Math.Min mi; Math.Abs ab; Math.Sign si(generateEvent=true);
  Math.Sum sum1(nin=2, k={1, 3}); Math.MatrixGain mg(K=[1, 2; 3, 4]);
  Math.Sqrt sq; Math.Sin s1; Math.Cos c1; Math.Tan t1; Math.Asin as; Math.Acos ac; Math.Atan at;
  Math.Sinh sh; Math.Cosh ch; Math.Tanh th; Math.Exp ex; Math.Log lo; Math.Log10 l10; Math.Atan2 a2;
  Math.BooleanToReal b2r(realTrue=4, realFalse=-1); Math.RealToBoolean r2b(threshold=0.4);
  Nonlinear.Limiter lim(uMax=0.6, uMin=-0.2); Nonlinear.VariableLimiter vlim; Nonlinear.DeadZone dz(uMax=0.4);
  Nonlinear.FixedDelay delay1(delayTime=0.25);
  Logical.GreaterThreshold gt(threshold=0.2); Logical.GreaterEqualThreshold get(threshold=0.3);
  Logical.LessThreshold lt(threshold=0.1); Logical.LessEqualThreshold let(threshold=-0.1);
  Logical.Greater gr; Logical.GreaterEqual ge; Logical.Less le; Logical.LessEqual lee;
  Logical.And and1; Logical.Or or1; Logical.Xor xor1; Logical.Not not1;
  Logical.Switch sw; Logical.Hysteresis hys(uLow=-0.5, uHigh=0.5); Logical.OnOffController onoff(bandwidth=0.4);
equation
  connect(step.y, int.u); connect(clock.y, reset.u); connect(bp.y, reset.reset);
  connect(sine.y, der1.u); connect(step.y, fo.u); connect(step.y, so.u); connect(step.y, pi.u);
  connect(step.y, pid.u); connect(step.y, tf.u); connect(step.y, ss.u[1]);
  connect(sine.y, gain.u); connect(sine.y, add.u1); connect(ramp.y, add.u2);
  connect(sine.y, add3.u1); connect(ramp.y, add3.u2); connect(k.y, add3.u3);
  connect(sine.y, fb.u1); connect(cosine.y, fb.u2); connect(sine.y, prod.u1); connect(ramp.y, prod.u2);
  connect(sine.y, div.u1); connect(ramp.y, div.u2); connect(sine.y, ma.u1); connect(cosine.y, ma.u2);
  connect(sine.y, mi.u1); connect(cosine.y, mi.u2); connect(sine.y, ab.u); connect(sine.y, si.u);
  connect(exps.y, sum1.u[1]); connect(expo.y, sum1.u[2]); connect(saw.y, mg.u[1]); connect(trap.y, mg.u[2]);
  connect(re.y, sq.u); connect(ramp.y, s1.u); connect(ramp.y, c1.u);
  t1.u = 0.5*time; as.u = 0.4*time; ac.u = 0.4*time;
  connect(ramp.y, at.u); connect(ramp.y, sh.u); connect(ramp.y, ch.u); connect(ramp.y, th.u);
  connect(ramp.y, ex.u); connect(ramp.y, lo.u); connect(ramp.y, l10.u);
  connect(ramp.y, a2.u1); connect(k.y, a2.u2); connect(bs.y, b2r.u); connect(sine.y, r2b.u);
  connect(sine.y, lim.u); connect(sine.y, vlim.u); vlim.limit1 = 0.5 + 0.1*time; vlim.limit2 = -0.3;
  connect(sine.y, dz.u); connect(re.y, delay1.u);
  connect(sine.y, gt.u); connect(sine.y, get.u); connect(sine.y, lt.u); connect(sine.y, let.u);
  connect(sine.y, gr.u1); connect(cosine.y, gr.u2); connect(sine.y, ge.u1); connect(cosine.y, ge.u2);
  connect(sine.y, le.u1); connect(cosine.y, le.u2); connect(sine.y, lee.u1); connect(cosine.y, lee.u2);
  connect(gt.y, and1.u1); connect(bs.y, and1.u2); connect(gt.y, or1.u1); connect(bs.y, or1.u2);
  connect(gt.y, xor1.u1); connect(bp.y, xor1.u2); connect(gt.y, not1.u);
  connect(sine.y, sw.u1); connect(be.y, sw.u2); connect(pulse.y, sw.u3);
  connect(sine.y, hys.u); connect(fo.y, onoff.u); connect(ramp.y, onoff.reference);
end Control;
"""

MODELS = {
    "Circuits": CIRCUITS,
    "Ports": PORTS,
    "Motor": MOTOR,
    "Shafts": SHAFTS,
    "Rods": RODS,
    "Room": ROOM,
    "Control": CONTROL,
}
