package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fenceline/fenceline/store"
)

// Config says what to look at.
type Config struct {
	// URL is the address that the program itself uses.
	URL string
	// OwnerURL is the address of a role that sees more, such as the owner's;
	// empty means URL.
	OwnerURL string
	// Limits replace the default ones where they are not zero.
	Limits Limits
	// Now is this machine's clock; nil means [time.Now].
	Now func() time.Time
}

// Limits are where findings begin.
type Limits struct {
	TransactionWarn, TransactionFail time.Duration // age of the oldest transaction; 1 min, 30 min
	PreparedWarn, PreparedFail       time.Duration // age of the oldest prepared one; 1 min, 30 min
	HorizonWarn, HorizonFail         int64         // transactions since the oldest snapshot; 1 million, 50 million
	QueueWarn, QueueFail             float64       // part of the notification queue in use; 0.05, 0.5
	ClockWarn, ClockFail             time.Duration // between the two clocks; 2 s, 1 min
	DeadRows                         int64         // dead rows of a table from which their share counts; 50,000
	BloatBytes                       int64         // size of a table from which its waste counts; 256 MiB
	WALWarn, WALFail                 int64         // bytes kept for a slot that nobody reads; 1 GiB, 10 GiB
}

var defaults = Limits{
	TransactionWarn: time.Minute, TransactionFail: 30 * time.Minute,
	PreparedWarn: time.Minute, PreparedFail: 30 * time.Minute,
	HorizonWarn: 1_000_000, HorizonFail: 50_000_000,
	QueueWarn: 0.05, QueueFail: 0.5,
	ClockWarn: 2 * time.Second, ClockFail: time.Minute,
	DeadRows: 50_000, BloatBytes: 256 << 20,
	WALWarn: 1 << 30, WALFail: 10 << 30,
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.TransactionWarn, defaults.TransactionWarn)
	orDefault(&l.TransactionFail, defaults.TransactionFail)
	orDefault(&l.PreparedWarn, defaults.PreparedWarn)
	orDefault(&l.PreparedFail, defaults.PreparedFail)
	orDefault(&l.HorizonWarn, defaults.HorizonWarn)
	orDefault(&l.HorizonFail, defaults.HorizonFail)
	orDefault(&l.QueueWarn, defaults.QueueWarn)
	orDefault(&l.QueueFail, defaults.QueueFail)
	orDefault(&l.ClockWarn, defaults.ClockWarn)
	orDefault(&l.ClockFail, defaults.ClockFail)
	orDefault(&l.DeadRows, defaults.DeadRows)
	orDefault(&l.BloatBytes, defaults.BloatBytes)
	orDefault(&l.WALWarn, defaults.WALWarn)
	orDefault(&l.WALFail, defaults.WALFail)
	return l
}

func orDefault[T int64 | float64 | time.Duration](value *T, def T) {
	if *value == 0 {
		*value = def
	}
}

// Patience bounds each check: a doctor must answer when the database does not.
const Patience = 10 * time.Second

// exam is one examination under way.
type exam struct {
	cfg     Config
	limits  Limits
	conn    *pgx.Conn // as the role that sees more
	version int       // the server's, as 150018
}

type check struct {
	name string
	run  func(*exam, context.Context) ([]Finding, error)
}

var checks = []check{
	{"server_version", (*exam).serverVersion},
	{"schema_version", (*exam).schemaVersion},
	{"runtime_role", (*exam).runtimeRole},
	{"read_only", (*exam).readOnly},
	{"durability", (*exam).durability},
	{"autovacuum", (*exam).autovacuum},
	{"connections", (*exam).connections},
	{"timeouts", (*exam).timeouts},
	{"pooler", (*exam).pooler},
	{"replication", (*exam).replication},
	{"replication_slots", (*exam).slots},
	{"visibility", (*exam).visibility},
	{"oldest_transaction", (*exam).oldestTransaction},
	{"oldest_snapshot", (*exam).oldestSnapshot},
	{"prepared_transactions", (*exam).prepared},
	{"notify_queue", (*exam).notifyQueue},
	{"clock", (*exam).clock},
	{"dead_rows", (*exam).deadRows},
	{"bloat", (*exam).bloat},
	{"partitions", (*exam).partitions},
}

// Examine makes every check and returns what it found. A database that cannot
// be reached is a failed check, not an error.
func Examine(ctx context.Context, cfg Config) Report {
	var r Report
	e := exam{cfg: cfg, limits: cfg.Limits.withDefaults()}
	if e.cfg.Now == nil {
		e.cfg.Now = time.Now
	}
	if e.cfg.OwnerURL == "" {
		e.cfg.OwnerURL = cfg.URL
	}
	conn, err := connect(ctx, e.cfg.OwnerURL)
	if err != nil {
		r.add(fail("reachable", "Check the address, the server and the network; nothing else could be looked at.", "%s", reason(err)))
		return r
	}
	defer func() { e.conn.Close(context.WithoutCancel(ctx)) }()
	e.conn = conn
	r.add(ok("reachable", "%s answers as %s.", conn.Config().Database, conn.Config().User))
	for _, c := range checks {
		r.add(e.make(ctx, c)...)
	}
	return r
}

// make runs one check within its time, and says what kept it from being made.
func (e *exam) make(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if e.conn.IsClosed() {
		conn, err := connect(ctx, e.cfg.OwnerURL)
		if err != nil {
			return []Finding{fail(c.name, "Look at the server: it answered a moment ago.", "It could not be looked at: %s", reason(err))}
		}
		e.conn = conn
	}
	found, err := c.run(e, ctx)
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return found
	case errors.As(err, &refused) && (refused.Code == "42P01" || refused.Code == "3F000" || refused.Code == "42883"):
		return []Finding{warn(c.name, "Run `fenceline migrate`, then look again.", "It could not be looked at, because the schema is not there.")}
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28"):
		return []Finding{fail(c.name, "Check the address's user and password; on a private server, run `fenceline migrate`.", "It could not be looked at: %s", reason(err))}
	case errors.As(err, &refused) && refused.Code == "42501":
		return []Finding{warn(c.name, "Look again as the owner of the schema (--owner-database-url), or grant the role pg_monitor.", "It could not be looked at: %s.", refused.Message)}
	}
	return []Finding{fail(c.name, "Look at the server: it refused or did not answer in time.", "It could not be looked at: %s", reason(err))}
}

// connect opens a plain session: with a pooler in between, settings at its start
// could be refused, and prepared statements belong to somebody else.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the address cannot be read: %w", err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// reason is an error's text without what a connection string may hold.
func reason(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Message + " (SQLSTATE " + refused.Code + ")"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", Patience)
	}
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		return "the address cannot be read"
	}
	return store.Plainly(err)
}
