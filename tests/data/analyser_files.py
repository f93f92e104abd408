"""Files as impedance analysers write them, for tests."""

from __future__ import annotations

ZPLOT = """ZPLOT2 ASCII
  Measured Data, ZPlot:       3.2c
  Date:                       10-12-2018
  Freq(Hz)	Ampl	Bias	Time(Sec)	Z'(a)	Z''(b)	GD	Err	Range
End Comments
1.0E+03	1.0E-02	0.0E+00	2.59E+00	2.9E+01	-6.3E-01	0.0E+00	0	4
1.0E+02	1.0E-02	0.0E+00	3.28E+00	3.1E+01	-3.4E+00	0.0E+00	0	4
"""
BIOLOGIC = """EC-Lab ASCII FILE
Nb header lines : 5

Potentio Electrochemical Impedance Spectroscopy
freq/Hz	Re(Z)/Ohm	-Im(Z)/Ohm	|Z|/Ohm	Phase(Z)/deg	time/s	cycle number
1,0E+003	2,9E+001	6,3E-001	2,9E+001	-1,2E+000	2,0E+000	1
1,0E+002	3,1E+001	3,4E+000	3,1E+001	-6,3E+000	3,0E+000	1
"""
GAMRY = """EXPLAIN
TAG	EISPOT
TITLE	LABEL	Potentiostatic EIS	Test &Identifier
ZCURVE	TABLE
	Pt	Time	Freq	Zreal	Zimag	Zsig	Zmod	Zphz	Idc	Vdc	IERange
	#	s	Hz	ohm	ohm	V	ohm	°	A	V	#
	0	2	1000	29	-0.63	1	29.0	-1.2	0.1	0.2	8
	1	4	100	31	-3.4	1	31.2	-6.3	0.1	0.2	8
"""
