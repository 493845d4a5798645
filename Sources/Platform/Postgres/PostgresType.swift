/// The types of PostgreSQL that parameters and columns have here. Their numbers never change (`pg_type.dat`).
enum PostgresType: UInt32 {
  case bool = 16
  case bytes = 17
  case int64 = 20
  case int32 = 23
  case text = 25
  case time = 1184
  case uuid = 2950

  /// The type of arrays of this type.
  var array: UInt32 {
    switch self {
    case .bool: 1000
    case .bytes: 1001
    case .int64: 1016
    case .int32: 1007
    case .text: 1009
    case .time: 1185
    case .uuid: 2951
    }
  }
}
