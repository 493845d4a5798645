"""A provider of OpenID Connect for a test of the console: Authlib's, with some people who need no password.

It takes its caller at the word of the standards: PKCE with S256, the one redirect URI, the secret in the header, a
nonce, and each code once. It writes its issuer into the file that the first argument names.
"""
import os
import pathlib
import secrets
import sys
import time

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import flask
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.integrations.flask_oauth2.requests import FlaskOAuth2Request
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

PEOPLE = {
    "ada": {"email": "ada@example.com", "email_verified": True, "groups": ["staff", "Customer Support"]},
    "op": {"email": "op@example.com", "email_verified": True, "groups": ["operators"]},
    "eve": {"email": "eve@example.com", "email_verified": True, "groups": ["staff"]},
    "markup": {"email": "<script>alert(1)</script>\"'&@example.com", "email_verified": True, "groups": ["staff"]},
    "mallory": {"email": "ada@example.com", "email_verified": False, "groups": ["Customer Support"]},
}
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})


class Client(ClientMixin):
    """The only client: the console."""

    def __init__(self, secret, redirect_uri):
        self.secret, self.redirect_uri = secret, redirect_uri

    def get_client_id(self):
        return "console:1"

    def get_default_redirect_uri(self):
        return self.redirect_uri

    def get_allowed_scope(self, scope):
        return " ".join(word for word in scope.split() if word in ("openid", "email"))

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret):
        return secrets.compare_digest(client_secret.encode(), self.secret.encode())

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


class Code:
    """A code that a browser brings to the console."""

    def __init__(self, request):
        data = request.payload.data
        self.scope, self.redirect_uri, self.user = request.payload.scope, data["redirect_uri"], request.user
        self.nonce, self.auth_time = data["nonce"], int(time.time())
        self.code_challenge, self.code_challenge_method = data["code_challenge"], data["code_challenge_method"]

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_nonce(self):
        return self.nonce

    def get_auth_time(self):
        return self.auth_time

    def get_acr(self):
        return None

    def get_amr(self):
        return None


def provider(secret, redirect_uri):
    app = flask.Flask(__name__)
    client, codes, nonces = Client(secret, redirect_uri), {}, set()

    class Grant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic"]

        def save_authorization_code(self, code, request):
            codes[code] = Code(request)
            nonces.add(codes[code].nonce)

        def query_authorization_code(self, code, client):
            return codes.get(code)

        def delete_authorization_code(self, authorization_code):
            for code in [code for code, kept in codes.items() if kept is authorization_code]:
                del codes[code]

        def authenticate_user(self, authorization_code):
            return authorization_code.user

    class Identity(OpenIDCode):
        def exists_nonce(self, nonce, request):
            return nonce in nonces

        def get_jwt_config(self, grant, client=None):
            return {"key": KEY.as_dict(private=True), "alg": "RS256", "kid": "one", "exp": 300,
                    "iss": flask.request.host_url.rstrip("/")}

        def generate_user_info(self, user, scope):
            return {"sub": user, **PEOPLE[user]}

    server = AuthorizationServer(
        app, query_client=lambda name: client if name == client.get_client_id() else None,
        save_token=lambda token, request: None)
    server.register_grant(Grant, [Identity(require_nonce=True), CodeChallenge(required=True)])

    @app.get("/.well-known/openid-configuration")
    def description():
        issuer = flask.request.host_url.rstrip("/")
        return {"issuer": issuer, "authorization_endpoint": f"{issuer}/authorize", "token_endpoint": f"{issuer}/token",
                "jwks_uri": f"{issuer}/keys", "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic"],
                "code_challenge_methods_supported": ["S256"], "subject_types_supported": ["public"]}

    @app.get("/keys")
    def keys():
        return {"keys": [KEY.as_dict(private=False)]}

    # A browser shows a form here. A test posts the person's name to the same address.
    @app.post("/authorize")
    def authorize():
        request = FlaskOAuth2Request(flask.request)
        user = flask.request.form.get("person")
        try:
            grant = server.get_consent_grant(request, end_user=user)
        except OAuth2Error as error:
            return server.handle_error_response(request, error)
        if flask.request.args.get("code_challenge_method") != "S256":
            return "this provider takes S256 only", 400
        return server.create_authorization_response(request, grant_user=user if user in PEOPLE else None, grant=grant)

    @app.post("/token")
    def token():
        return server.create_token_response()

    return app


def main(address_file, secret_file, redirect_uri):
    app = provider(pathlib.Path(secret_file).read_text(encoding="utf-8").strip(), redirect_uri)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    path = pathlib.Path(address_file)
    # The reader must never see half of it.
    path.with_suffix(".new").write_text(f"http://127.0.0.1:{server.server_port}")
    path.with_suffix(".new").rename(path)
    server.serve_forever()


main(*sys.argv[1:])
