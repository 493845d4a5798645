import Configuration
import Domain
import RoleSupport
import Testing

@testable import Console

/// Addresses of pages, for the console and for answers that lead there.
struct ConsolePagePathTests {
  @Test(arguments: [
    ("42", "42"), ("a/b", "a%2Fb"), (".", "~."), ("..", "~.."), ("~x", "~~x"), ("é?#", "%C3%A9%3F%23"), ("a.b", "a.b"),
  ])
  func `a link from elsewhere opens the customer's page`(id: String, segment: String) throws {
    let folder = try ConfigurationFolder()
    let customer = CustomerKey(publisherId: 7, id: CustomerId(id))
    let settings = try folder.settings(#"{"console": {"publicUrl": "https://c.example/c"}}"#)
    let page = settings.console.page(of: customer)
    #expect(page == "https://c.example/c/customers/7/\(segment)")
    #expect(page == "https://c.example" + Link("/c", customer.page).address)
    #expect(try folder.settings().console.page(of: customer) == nil)
  }
}
