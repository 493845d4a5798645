import EventLoop
import HTTPServer
import Testing

/// The body of a request, which its handler may forget.
@LoopActor
struct RequestBodyTests {
  @Test func `all copies of a request forget its body`() {
    let request = HTTPServerRequest(method: "POST", path: [], body: [1, 2])
    let copy = request
    #expect(copy.body == [1, 2])
    request.forgetBody()
    #expect(request.body.isEmpty && copy.body.isEmpty)
    request.forgetBody()
    #expect(copy.body.isEmpty)
  }

  @Test func `a request without a body has nothing to forget`() {
    let request = HTTPServerRequest(method: "GET", path: [])
    request.forgetBody()
    #expect(request.body.isEmpty)
  }
}
