import HTTPServer

/// What a request asks for, by value.
enum Route: Equatable {
  case register
  case status(String)
  case customer(String, Method)
  case health

  enum Method: String {
    case get = "GET"
    case put = "PUT"
    case delete = "DELETE"
  }

  /// Reads the path and the method.
  ///
  /// - Throws: ``Problem``: 404 for a path that is none, 405 with `Allow` for a method that it has not.
  init(_ method: String, _ path: [String]) throws(Problem) {
    if path.count == 1, ["livez", "readyz", "metrics"].contains(path[0]) {
      self = .health
      return
    }
    let path = path.first == "storekit2" ? Array(path.dropFirst()) : path
    switch (path.count, path.first) {
    case (1, "purchases"):
      guard method == "POST" else { throw .methodNotAllowed(["POST"]) }
      self = .register
    case (3, "purchases") where path[1] == "synchronizations":
      guard method == "GET" || method == "HEAD" else { throw .methodNotAllowed(["GET", "HEAD"]) }
      self = .status(path[2])
    case (2, "customers"):
      guard let method = Method(rawValue: method == "HEAD" ? "GET" : method) else {
        throw .methodNotAllowed(["DELETE", "GET", "HEAD", "PUT"])
      }
      self = .customer(path[1], method)
    default:
      throw .notFound
    }
  }
}
