import Crypto
import Domain
import EventLoop
import Fleets
import Glibc

/// A customer's token with the signature of the tests' publisher.
func jwt(customer: Int64, publisher: PublisherId) -> String { jwt(claim: String(customer), publisher: publisher) }

/// A token with the customer's id as it stands in the claims, which are JSON.
func jwt(claim customer: String, publisher: PublisherId) -> String {
  let header = Base64URL.encode(Array("{\"alg\":\"HS256\",\"typ\":\"JWT\"}".utf8))
  let claims = "{\"customerId\":\(customer),\"publisherId\":\(publisher),\"exp\":\(time(nil) + 600)}"
  let signed = header + "." + Base64URL.encode(Array(claims.utf8))
  let signature = HMACSHA256.authenticate(Array(signed.utf8), key: Array(RunningFleet.jwtSecret.utf8))
  return signed + "." + Base64URL.encode(signature)
}
