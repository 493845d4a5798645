"""The inputs from which ops/fuzz starts, beside the fixtures."""
import base64
import hmac

# One input of these targets is several values: each text stands behind a byte with its length (FuzzInput.swift).
PARTS = [
    # The endpoint's format and status, where the secret is in the answer, the limit, and Retry-After.
    ("answer", b"\x12\x02\x10\xff\x0e120" + b"\x00" * 11
               + b'{"password":"whsec_0123456789abcdef","a":"\\u00e9\\n"}'),
    ("answer", b"\x00\x00\x20\x40\x1dSun, 06 Nov 1994 08:49:37 GMT" + b"A" * 31 + b"\\u00e9" + b"A" * 31),
    # A status, the header fields, and the body.
    ("answer", b"\x04\x0210" + b'{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}'),
    ("answer", b"\x01\x021000" + b'{"errorCode":4040010,"errorMessage":"Transaction id not found."}'),
    ("answer", b"\x00\x0bmax-age=600" + b'{"keys":[{"kty":"EC","crv":"P-256","kid":"k","alg":"ES256","use":"sig",'
               b'"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",'
               b'"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}'),
    ("answer", b"\x00\x00" + b'{"data":[{"subscriptionGroupIdentifier":"1","lastTransactions":[{"status":1,'
               b'"originalTransactionId":"1","signedTransactionInfo":"eyJh.e30.AA"}]}],"environment":"Sandbox"}'),
    # A message's id, twelve headers (4 is none), and the body.
    ("message", b"\x05evt_1" + b"\x04" * 12 + b'{"broadcasterId":7,"topic":"t","data":{"synchronizationId":"s"}}'),
    ("message", b"\x05evt_1\x00\x01\x04\x00\x03\x09\x00\x01\x01\x01e\x01\x01r\x02\x01\x00\x01\x00\x01\x04\x04\x04"
                + b'{"broadcasterId":7,"topic":"purchases.updated","data":{"a":1}}'),
    ("message", b"\x05job_1" + b"\x04" * 12 + b'{"customerId":"42","format":1,"publisherId":7,"registeredAt":5,'
                b'"synchronizationId":"s","transactionId":"100"}'),
    ("message", b"\x05reply" + b"\x04" * 12
                + b'{"outcome":"{\\"result\\":\\"PURCHASE_REVOKED\\"}","synchronizationId":"s"}'),
    ("message", b"\x05notif" + b"\x04" * 12 + b'{"publisherId":7,"uuid":"a"}'),
    # A heartbeat, Tune (10, 30) with channels, frame and heartbeat, and the head of a content with a message's id.
    ("message", bytes.fromhex("08000000000000ce" "0100000000000c000a001e07ff00020000003cce"
                              "02000300000011003c000000000000000000050080026d31ce")),
    ("reply", b"*9\r\n$5\r\ntaken\r\n:9\r\n$12\r\nb|Production\r\n:1790000000000\r\n:2\r\n$12\r\nb|Production\r\n"
              b"$16\r\ntransaction-info\r\n$3\r\n100\r\n$10\r\nProduction\r\n"),
    ("reply", b"*2\r\n$4\r\nwait\r\n:1500\r\n*2\r\n$4\r\nbusy\r\n$3\r\n250\r\n-ERR no\r\n$-1\r\n*-1\r\n"),
    ("reply", b"*6\r\n$8\r\ncustomer\r\n$2\r\n42\r\n$11\r\ntransaction\r\n$3\r\n100\r\n"
              b"$6\r\nstatus\r\n$9\r\nfinalized\r\n"),
    ("reply", b"2|42|sync-1"), ("reply", b"t2|42|sync-1"), ("reply", b"b|Production|transaction-info|100"),
    ("reply", b'b|Sandbox||100|{"synchronizationId":"s","attempt":1,"toldAt":1790000000000,"passed":["b|Production"],'
              b'"isUnauthorized":false,"transaction":"eyJh.e30.AA"}'),
]

# The credentials of the publisher in FuzzReaders.swift.
TOKEN_KEY = b"0123456789abcdef" * 2
PUBLISHER = {"X-Publisher-Token": "token-of-publisher-7"}


def customers_token(claims):
    def part(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=")
    signed = part(b'{"alg":"HS256"}') + b"." + part(claims)
    return (signed + b"." + part(hmac.digest(TOKEN_KEY, signed, "sha256"))).decode()


def message(line, headers, body=b""):
    """The bytes of a request with a right length of its body."""
    if body:
        headers = {**headers, "Content-Type": "application/json", "Content-Length": len(body)}
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode("latin-1") + body


def chunked(body):
    return message("POST /x", {"Transfer-Encoding": "chunked"}) + body


def whole_requests():
    """A right request for each reader of the gateway."""
    customer = customers_token(b'{"publisherId":7,"customerId":"42","exp":1800000000}')
    iaptic = {"Authorization": "Basic " + base64.b64encode(b"app:key-of-iaptic-door").decode()}
    trace = {"Correlation-Id": "a", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    return [
        message("POST /storekit2/purchases", PUBLISHER | trace,
                b'{"cleengCustomerId":42,"transactionId":"100","ipAddress":"192.0.2.1"}'),
        message("POST /purchases", {"Authorization": f"Bearer {customer}"},
                b'{"customerId":"42","transactionId":"100"}'),
        message("GET /3.1/webhook_endpoints?limit=10&cursor=1790000000000-6162", PUBLISHER),
        message("POST /3.1/webhook_endpoints", PUBLISHER,
                b'{"url":"https://h.example/","topics":["t"],"secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",'
                b'"maxPerSecond":5,"retryPolicy":{"scheduleSeconds":[1,60]}}'),
        message("PUT /3.1/webhook_subscriptions/t", PUBLISHER,
                b'[{"url":"https://h.example/","verification":{"name":"HMAC","options":{"hashAlg":"SHA256",'
                b'"sharedSecret":"0123456789abcdef"}}}]'),
        message("PUT /customers/42", PUBLISHER,
                b'{"email":"a@example.com","appAccountToken":"01234567-89ab-cdef-0123-456789abcdef"}'),
        message("PUT /customers/42/consent", PUBLISHER,
                b'{"consented":true,"textVersion":"1","time":"2026-09-20T09:00:00Z"}'),
        message("POST /customers/42/grants", PUBLISHER,
                b'{"offerId":"o","expiresAt":"2027-09-20T09:00:00Z","reason":"promo","note":"n"}'),
        message("PUT /customers/42/sandbox-access", PUBLISHER,
                b'{"until":"2027-09-20T09:00:00Z","reason":"testing","note":"n"}'),
        message("PUT /refund-requests/a", PUBLISHER,
                b'{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED",'
                b'"consumptionPercentage":500}'),
        message("GET /events?wait=0&topic=purchaseUpdated&after=01" + "0" * 48, PUBLISHER),
        message("GET /audit?limit=5&before=7", PUBLISHER | {"X-Forwarded-For": "192.0.2.1, [2001:db8::1]:80"}),
        message("POST /apple/payment", PUBLISHER,
                b'{"customerEmail":"a@example.com","offerId":"o","appType":"ios",'
                b'"receipt":{"receiptData":"MIIB","transactionId":"100"}}'),
        message("POST /v1/validate", iaptic,
                b'{"id":"p","type":"paid subscription","transaction":{"id":"100","type":"ios-appstore",'
                b'"appStoreReceipt":"MIIB"},"additionalData":{"applicationUsername":"42"}}'),
        message("GET /v2/customers?skip=0&limit=10&applicationUsername=a%2Cb,c&appName=app&apiKey=key", {}),
        message("POST /Client/ValidateIOSReceipt", {"X-Authorization": customer},
                b'{"ReceiptData":"MIIB","PurchasePrice":999,"CurrencyCode":"USD"}'),
        message("POST /client/itunes_connect/receipts", {"Authorization": "Bearer client-token-1"},
                b'{"receipt":"MIIB","country_code":"DE","metadata":{"a":1},"user_identifier":"42",'
                b'"ip_address":"NULL"}'),
        message("POST /apple/notifications", {}, b'{"signedPayload":"eyJh.e30.AA"}'),
        message("OPTIONS /v1/validate", {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}),
    ]


def malformed_requests():
    """Framing that a server must survive, with other clients served meanwhile."""
    return [
        chunked(b"3;a=b\r\nabc\r\n0\r\nTrailer: 1\r\n\r\n"), chunked(b"3;" + b"a" * 21000), chunked(b"3\r\nabcdef"),
        chunked(b"-1\r\n"), chunked(b"ffffffffffffffffff\r\na"), chunked(b"\r\n"),
        message("POST /x", {"Content-Length": 1 << 63}), message("POST /x", {"Content-Length": -1}),
        message("POST /x", {"Content-Length": 3, "Transfer-Encoding": "chunked"}) + b"0\r\n\r\n",
        message("POST /x", {"Content-Length": 9}) + b"abc",
        message("GET /livez", {}) * 3, b"GET /livez HTTP/1.1\nHost: a\n\n",
        b"GET /%00%ff HTTP/1.1\r\nHost: a\r\nA: \x00b\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 900,
        b"GET /" + b"a" * 20000, b"\x16\x03\x01\x02\x00", b"\r\n" * 50, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        message("GET /customers/%2e%2E/entitlements?a=%zz&&=", {"Cookie": ";" * 5000}),
        # Rejected twice: for its cookies, which find no room, and for its length.
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\nCookie: " + b"a=b; " * 1500 + b"\r\n\r\n",
    ]


def requests():
    """Yields ("request", input): a byte with the number of pieces less one, and the bytes."""
    for number, content in enumerate(whole_requests() + malformed_requests()):
        for pieces in {0, number % 4}:
            yield "request", bytes([pieces]) + content
