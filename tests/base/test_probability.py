"""Functions of distributions are SciPy's own, whichever way they were loaded."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

from estimica.base.probability import functions

NAMES = [n for n in vars(functions) if isinstance(getattr(functions, n), np.ufunc)]


def printed(program: str) -> list[str]:
    """What a program prints in a process of its own, word by word."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_they_are_the_functions_of_the_package() -> None:
    assert len(NAMES) == 14
    for name in NAMES:
        assert getattr(functions, name) is getattr(special, name)


def test_they_mean_what_their_comments_say() -> None:
    x, df, other = 1.3, 7.0, 11.0
    f = functions
    assert f.ndtr(x) == pytest.approx(stats.norm.cdf(x), rel=1e-13)
    assert f.log_ndtr(x) == pytest.approx(stats.norm.logcdf(x), rel=1e-13)
    assert f.ndtri(f.ndtr(x)) == pytest.approx(x, rel=1e-13)
    assert f.ndtri_exp(f.log_ndtr(-x)) == pytest.approx(-x, rel=1e-13)
    assert f.stdtr(df, x) == pytest.approx(stats.t.cdf(x, df), rel=1e-13)
    assert f.stdtrit(df, f.stdtr(df, x)) == pytest.approx(x, rel=1e-12)
    assert f.stdtridf(f.stdtr(df, x), x) == pytest.approx(df, rel=1e-8)
    assert f.chdtrc(df, x) == pytest.approx(stats.chi2.sf(x, df), rel=1e-13)
    assert f.chdtri(df, f.chdtrc(df, x)) == pytest.approx(x, rel=1e-12)
    assert f.gammaincc(df, x) == pytest.approx(stats.gamma.sf(x, df), rel=1e-13)
    assert f.gammaincinv(df, stats.gamma.cdf(x, df)) == pytest.approx(x, rel=1e-12)
    assert f.fdtrc(df, other, x) == pytest.approx(stats.f.sf(x, df, other), rel=1e-13)
    assert f.fdtri(df, other, stats.f.cdf(x, df, other)) == pytest.approx(x, rel=1e-12)
    assert f.betaincc(df, other, 0.3) == pytest.approx(stats.beta.sf(0.3, df, other), rel=1e-13)


def test_they_come_without_the_package_which_can_be_imported_after_them() -> None:
    found = printed(
        "import sys\n"
        "from estimica.base.probability import functions as f\n"
        "print('scipy.special' in sys.modules, 'scipy.linalg' in sys.modules)\n"
        "import scipy.special, scipy.stats, scipy.special._ufuncs as u\n"
        "print(scipy.special.ndtri is f.ndtri is u.ndtri, scipy.special.jv(1, 1.0) > 0)\n"
        "print(scipy.stats.t.ppf(0.975, 3) == f.stdtrit(3, 0.975))"
    )
    assert found == ["False", "False", "True", "True", "True"]


def test_a_package_that_is_loaded_already_is_used() -> None:
    found = printed(
        "import scipy.special, sys\n"
        "package = sys.modules['scipy.special']\n"
        "from estimica.base.probability import functions as f\n"
        "print(f.ndtri is package.ndtri, sys.modules['scipy.special'] is package)"
    )
    assert found == ["True", "True"]


def test_where_they_cannot_be_had_alone_the_package_is_loaded() -> None:
    found = printed(
        "import sys\n"
        "class Otherwise:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'scipy.special._ufuncs' and self.asked == 0:\n"
        "            self.asked += 1\n"
        "            raise ImportError(name)\n"
        "    asked = 0\n"
        "sys.meta_path.insert(0, Otherwise())\n"
        "from estimica.base.probability import functions as f\n"
        "import scipy.special\n"
        "print(sys.modules['scipy.special'].ndtri is f.ndtri, f.ndtri(0.5) == 0)"
    )
    assert found == ["True", "True"]


def test_what_another_thread_asks_for_meanwhile_comes_from_the_package() -> None:
    found = printed(
        "import sys, scipy\n"
        "from estimica.base.probability import functions as f\n"
        "stand_in = f._Unopened('scipy.special')\n"
        "sys.modules['scipy.special'] = stand_in\n"
        "from scipy.special import expit\n"
        "import scipy.special\n"
        "print(expit(0.0), sys.modules['scipy.special'] is not stand_in)"
    )
    assert found == ["0.5", "True"]
