package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/fenceline/fenceline/store"
)

// plan is a node of what EXPLAIN tells.
type plan struct {
	NodeType  string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Parent    string  `json:"Parent Relationship"`
	Subplan   string  `json:"Subplan Name"`
	CTE       string  `json:"CTE Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	ByFilter  float64 `json:"Rows Removed by Filter"`
	ByJoin    float64 `json:"Rows Removed by Join Filter"`
	ByRecheck float64 `json:"Rows Removed by Index Recheck"`
	Hit       float64 `json:"Shared Hit Blocks"`
	Read      float64 `json:"Shared Read Blocks"`
	Plans     []plan  `json:"Plans"`
}

// looked is how many rows the node had in hand, over all its rounds.
func (p plan) looked() float64 { return (p.Rows + p.ByFilter + p.ByJoin + p.ByRecheck) * p.Loops }

func (p plan) walk(visit func(plan)) {
	visit(p)
	for _, child := range p.Plans {
		child.walk(visit)
	}
}

func (p plan) tree(indent string) string {
	text := fmt.Sprintf("%s%s %s%s%s (%s %s) rows %.0f removed %.0f loops %.0f buffers %.0f\n", indent, p.NodeType, p.Relation, p.CTE, p.Index, p.Parent, p.Subplan,
		p.Rows, p.ByFilter+p.ByJoin+p.ByRecheck, p.Loops, p.Hit+p.Read)
	for _, child := range p.Plans {
		text += child.tree(indent + "  ")
	}
	return text
}

// planner is a tracer that has every statement of a store explained, on a
// connection like the store's own, just before it is sent: what is looked at
// is what the store does, with its arguments and its way of planning.
type planner struct {
	f     *fixture
	conn  *pgx.Conn
	local string // what the store's transaction set before its first statement
	look  func(sql string, generic bool, p plan)
}

func (f *fixture) planned(look func(string, bool, plan)) *store.Store {
	f.t.Helper()
	conn, err := pgx.ConnectConfig(f.ctx, f.ListenConfig())
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := store.OpenTraced(f.ctx, store.Config{URL: f.url, IdleInTransaction: time.Minute}, &planner{f: f, conn: conn, look: look})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Close(); conn.Close(context.Background()) })
	return s
}

func (p *planner) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if begin, local, set := strings.Cut(data.SQL, ";"); set && strings.HasPrefix(begin, "begin") {
		p.local = local
	}
	switch strings.Fields(strings.ToLower(data.SQL))[0] {
	case "commit", "rollback":
		p.local = ""
	case "select", "with", "insert", "update":
		p.explain(data.SQL, data.Args)
	}
	return ctx
}

func (p *planner) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (p *planner) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	p.explain(data.Batch.QueuedQueries[0].SQL, data.Batch.QueuedQueries[0].Arguments)
	return ctx
}

func (p *planner) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (p *planner) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// explain looks at the plan for these arguments and, unless the store asks for
// that one each time, at the plan for any arguments: the server may change to
// it after a few calls.
func (p *planner) explain(sql string, args []any) {
	custom := len(args) > 0 && args[0] == any(pgx.QueryExecModeCacheDescribe)
	if custom {
		args = args[1:]
	}
	p.run(sql, false, sql, args)
	if custom || len(args) == 0 {
		return
	}
	literals := make([]string, len(args))
	for i, arg := range args {
		literals[i] = literal(arg)
	}
	for _, prepare := range []string{"set plan_cache_mode = force_generic_plan", "prepare any_arguments as " + sql} {
		if _, err := p.conn.Exec(p.f.ctx, prepare); err != nil {
			p.f.t.Errorf("%s: %v", prepare, err)
			return
		}
	}
	p.run(sql, true, "execute any_arguments ("+strings.Join(literals, ", ")+")", nil)
	if _, err := p.conn.Exec(p.f.ctx, "deallocate any_arguments; reset plan_cache_mode"); err != nil {
		p.f.t.Error(err)
	}
}

// run has the statement done, and takes it back.
func (p *planner) run(sql string, generic bool, explained string, args []any) {
	tx, err := p.conn.Begin(p.f.ctx)
	if err != nil {
		p.f.t.Error(err)
		return
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(p.f.ctx, p.local); p.local != "" && err != nil {
		p.f.t.Errorf("%s: %v", p.local, err)
		return
	}
	if _, err := tx.Exec(p.f.ctx, "set local lock_timeout = '100ms'"); err != nil {
		p.f.t.Error(err)
		return
	}
	var told []struct{ Plan plan }
	args = append([]any{pgx.QueryExecModeDescribeExec}, args...)
	if err := tx.QueryRow(p.f.ctx, "explain (analyze, buffers, format json, timing off) "+explained, args...).Scan(&told); err != nil {
		if code(err) == "55P03" && strings.Contains(sql, "update fenceline.operations") {
			return // of one row, which the transaction of the step holds
		}
		p.f.t.Errorf("%s: %v", explained, err)
		return
	}
	p.look(sql, generic, told[0].Plan)
}

// literal spells an argument as SQL.
func literal(v any) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch v := v.(type) {
	case nil:
		return "null"
	case time.Duration:
		// PostgreSQL 14 takes no more microseconds than fit into 32 bits.
		return quote(fmt.Sprintf("%.6f seconds", v.Seconds()))
	case time.Time:
		return quote(v.Format(time.RFC3339Nano))
	case []byte:
		return quote(string(v))
	case store.Detail, map[store.State]int64, map[store.Conflict]int64:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return quote(string(text))
	case uuid.UUID:
		return quote(v.String())
	case [16]byte:
		return quote(uuid.UUID(v).String())
	}
	of := reflect.ValueOf(v)
	if of.Kind() == reflect.Pointer {
		if of.IsNil() {
			return "null"
		}
		return literal(of.Elem().Interface())
	}
	if of.Kind() != reflect.Slice {
		return quote(fmt.Sprint(v))
	}
	members := make([]string, of.Len())
	for i := range members {
		switch member := of.Index(i).Interface().(type) {
		case *string:
			members[i] = "null"
			if member != nil {
				members[i] = strconv.Quote(*member)
			}
		case [16]byte:
			members[i] = uuid.UUID(member).String()
		default:
			members[i] = strconv.Quote(fmt.Sprint(member))
		}
	}
	return quote("{" + strings.Join(members, ",") + "}")
}
