import Redis

/// The line of the jobs that wait for a call to Apple, for each place, and for each endpoint that alone will do.
///
/// A line's name is that of a `CallPlace`, or that and `|ENDPOINT`. Jobs in bulk have lines of their own, whose names
/// end in `|ENDPOINT|bulk` or `||bulk`. A line's keys begin with `line:NAME`:
///
/// - itself, a hash: `jobs`, the number of its jobs; `budgets`, the endpoints with their calls a second; `turn`, the
///   last turn of a publisher; and for each publisher the last turn of a customer,
/// - `:publishers`, a sorted set: the publishers by their next turns,
/// - `:PUBLISHER`, a sorted set: the publisher's customers by their next turns,
/// - `:PUBLISHER:CUSTOMER`, a sorted set: the customer's jobs by their age.
///
/// Each round gives one turn to each publisher, and within a publisher one to each customer (self-clocked fair
/// queueing, Golestani 1994). A newcomer gets a turn of the next round. So however many jobs a customer has in the
/// line, at most one of them comes before another customer's next one (decision 0039).
extension LuaFunction {
  /// Lua: `lineName(place, endpoint, urgency)` names the line of a place, or of one endpoint there.
  ///
  /// `grantInLane(urgency, prefix, budgetsKey, place, budgets, now)` takes a call as its ``CallUrgency`` allows. It
  /// needs ``grant`` and ``grantLater``.
  static let grantInLane = LuaFunction(
    """
    local function lineName(place, endpoint, urgency)
      if urgency == 'bulk' then return place .. '|' .. endpoint .. '|bulk' end
      return endpoint == '' and place or place .. '|' .. endpoint
    end
    local function grantInLane(urgency, prefix, budgetsKey, place, budgets, now)
      if urgency == 'awaited' then return grant(budgetsKey, place, budgets, now) end
      local lines = {prefix .. 'line:' .. place}
      for _, budget in ipairs(budgets) do lines[#lines + 1] = lines[1] .. '|' .. budget[1] end
      local isAwaited = redis.call('EXISTS', unpack(lines)) > 0
      return grantLater(budgetsKey, place, budgets, now, urgency, isAwaited)
    end
    """)

  /// Lua: `joinLine(linesKey, prefix, name, budgets, job, due)` puts a job into a line, unless it is there. It is worth
  /// a look from `due` on, in milliseconds.
  ///
  /// `budgets` is a text; `job` has `publisher`, `customer`, `member` and `age`.
  static let joinLine = LuaFunction(
    """
    local function joinLine(linesKey, prefix, name, budgets, job, due)
      local line = prefix .. 'line:' .. name
      local customers = line .. ':' .. job.publisher
      if redis.call('ZADD', customers .. ':' .. job.customer, 'NX', job.age, job.member) == 1 then
        redis.call('HINCRBY', line, 'jobs', 1)
      end
      redis.call('HSET', line, 'budgets', budgets)
      if not redis.call('ZSCORE', customers, job.customer) then
        redis.call('ZADD', customers, (redis.call('HGET', line, job.publisher) or 0) + 1, job.customer)
      end
      if not redis.call('ZSCORE', line .. ':publishers', job.publisher) then
        redis.call('ZADD', line .. ':publishers', (redis.call('HGET', line, 'turn') or 0) + 1, job.publisher)
      end
      redis.call('ZADD', linesKey, 'NX', due, name)
    end
    """)

  /// Lua: `expectedWait(prefix, name)` returns how many milliseconds the last job of a line waits at the rate of its
  /// budgets, and at most a day.
  static let expectedWait = LuaFunction(
    """
    local function expectedWait(prefix, name)
      local state, rate = redis.call('HMGET', prefix .. 'line:' .. name, 'jobs', 'budgets'), 0
      for each in string.gmatch(state[2] or '', '[^ ]+ ([^ ]+)') do rate = rate + each end
      if rate == 0 then return 0 end
      return math.min(math.ceil((state[1] or 0) / rate * 1000), 86400000)
    end
    """)

  /// Lua: `firstInLine(line)` returns the job whose turn it is, as a table with `publisher`, `customer`, `member` and
  /// the turns of both, or nothing if the line is empty.
  static let firstInLine = LuaFunction(
    """
    local function firstInLine(line)
      local publisher = redis.call('ZRANGE', line .. ':publishers', 0, 0, 'WITHSCORES')
      if not publisher[1] then return end
      local customers = line .. ':' .. publisher[1]
      local customer = redis.call('ZRANGE', customers, 0, 0, 'WITHSCORES')
      local member = customer[1] and redis.call('ZRANGE', customers .. ':' .. customer[1], 0, 0)[1]
      return {publisher = publisher[1], turn = publisher[2], customer = customer[1], customerTurn = customer[2],
        member = member}
    end
    """)

  /// Lua: `leaveLine(line, job)` takes the job out whose turn it is.
  ///
  /// `endTurn(line, job)` gives the next turns to the others: the job has had its turn, or cannot use it now.
  /// `skipPublisher(line, job)` gives the next turn to another publisher.
  static let leaveLine = LuaFunction(
    """
    local function leaveLine(line, job)
      if not job.customer or not job.member then return end
      if redis.call('ZREM', line .. ':' .. job.publisher .. ':' .. job.customer, job.member) == 1 then
        redis.call('HINCRBY', line, 'jobs', -1)
      end
    end
    local function skipPublisher(line, job)
      redis.call('HSET', line, 'turn', job.turn)
      redis.call('ZADD', line .. ':publishers', job.turn + 1, job.publisher)
    end
    local function endTurn(line, job)
      local customers = line .. ':' .. job.publisher
      redis.call('HSET', line, 'turn', job.turn, job.publisher, job.customerTurn or 0)
      if job.customer then
        if redis.call('EXISTS', customers .. ':' .. job.customer) == 1 then
          redis.call('ZADD', customers, job.customerTurn + 1, job.customer)
        else
          redis.call('ZREM', customers, job.customer)
        end
      end
      if redis.call('EXISTS', customers) == 1 then
        redis.call('ZADD', line .. ':publishers', job.turn + 1, job.publisher)
      else
        redis.call('ZREM', line .. ':publishers', job.publisher)
        redis.call('HDEL', line, job.publisher)
      end
    end
    """)
}
