import Domain
import Gateway
import HTTPServer
import JSON

/// An error of Cleeng's paths: our problem document, with the list of texts that MediaStore's clients read.
enum CleengError {
  /// Cleeng's texts of the codes, where they differ from those of our own API.
  private static let messages = [
    "REQ0001": "Invalid request body", "AUTH0001": "Missing required JWT", "AUTH0002": "Invalid JWT token",
  ]

  /// The text of a problem as Cleeng writes it.
  static func message(of problem: Problem) -> String { messages[problem.code] ?? problem.message }

  /// The answer to a client.
  static func response(_ problem: Problem) -> HTTPServerResponse {
    let message = message(of: problem)
    var response = problem.response
    response.body = JSONWriter.object { writer in
      writer.member("code", problem.code)
      writer.member("detail", problem.detail)
      writer.member("errors", array: [JSONWriter.text(message)])
      writer.member("instance", problem.instance)
      writer.member("message", message)
      writer.member("status", Int64(problem.status))
      writer.member("title", message)
      writer.member("type", "about:blank")
    }
    return response
  }
}
