"""The Python of a provider of OpenID Connect, with which a test of the console signs in."""
from development.packages import PrivatePython
from fleet import ROOT

PYTHON = PrivatePython(
    "oidc-python", ROOT / "ops" / "development" / "oidc" / "requirements.txt",
    "signs in to the console with a provider of OpenID Connect")
