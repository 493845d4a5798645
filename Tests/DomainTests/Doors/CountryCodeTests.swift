import Domain
import Testing

/// The codes of countries.
struct CountryCodeTests {
  @Test(arguments: [
    ("DEU", "DE"), ("USA", "US"), ("GBR", "GB"), ("CHN", "CN"), ("AUT", "AT"), ("AUS", "AU"), ("ABW", "AW"),
    ("ZWE", "ZW"), ("XKS", "XK"),
  ])
  func known(alpha3: String, alpha2: String) {
    #expect(CountryCode.alpha2(alpha3) == alpha2)
  }

  @Test(arguments: ["", "DE", "deu", "XXX", "DEU ", "DEUDE"]) func unknown(text: String) {
    #expect(CountryCode.alpha2(text) == nil)
  }

  @Test func `two letters are a code`() {
    #expect(CountryCode.canonical("de") == "DE")
    #expect(CountryCode.canonical("Us") == "US")
    for text in ["", "D", "DEU", "D1", "ä", "Dé", "D ", "\u{212A}"] { #expect(CountryCode.canonical(text) == nil) }
  }
}
