import Formats
import Testing

struct HTTPDateTests {
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
  ])
  func threeForms(text: String) {
    #expect(HTTPDate.seconds(text) == 784_111_777)
  }

  @Test(arguments: [
    "", "1994", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov +994 08:49:37 GMT",
  ])
  func noDate(text: String) {
    #expect(HTTPDate.seconds(text) == nil)
  }
}
