package search

// Field is what a term is about.
type Field string

// The fields of a search.
const (
	State    Field = "state"
	Kind     Field = "kind"
	Queue    Field = "queue"
	Key      Field = "key"
	ID       Field = "id"
	Worker   Field = "worker"   // who made the last claim
	Tag      Field = "tag"      // one of the job's tags
	Error    Field = "error"    // an attempt failed with this class, or with this in its message
	Attempts Field = "attempts" // used of the budget
	Enqueued Field = "enqueued"
	Finished Field = "finished"
	Due      Field = "due" // when a scheduled or retryable job may run
	Older    Field = "older"
	Newer    Field = "newer"
	Lease    Field = "lease"    // how it stands with the job's leases: see [LeaseLive]
	Refused  Field = "refused"  // a write of one of its attempts was refused
	Lost     Field = "lost"     // when a lease of it expired
	Late     Field = "late"     // when a write of one of its attempts was refused
	Incident Field = "incident" // it is among the jobs that an incident touches
	Args     Field = "args"     // a value within the args, by its path
)

// What can be asked of a job's leases.
const (
	LeaseExpired = "expired" // one expired at least once
	LeaseLive    = "live"    // the job runs under one that has not passed
	LeaseLapsed  = "lapsed"  // the job runs under one that has passed, and no sweep has seen it yet
	LeaseLost    = "lost"    // the last one expired, and the job was not claimed since
)

// Sort says which values a field takes.
type Sort int

// The sorts of fields.
const (
	Text    Sort = iota // a text, or how one begins
	Choice              // one of a few words
	Number              // a whole number, compared
	Moment              // a point in time, compared
	Span                // a length of time
	Payload             // a value of JSON at a path
)

// FieldInfo is what a person can be told about a field.
type FieldInfo struct {
	Name    Field
	Sort    Sort
	Words   []string // the values of a [Choice]
	Help    string
	Example string
}

// Fields lists every field, in the order in which they are offered.
var Fields = []FieldInfo{
	{State, Choice, []string{"scheduled", "available", "running", "retryable", "completed", "discarded", "terminated"}, "where the job stands", "state:discarded"},
	{Kind, Text, nil, "what sort of work it is", "kind:report"},
	{Queue, Text, nil, "where it waits", `queue:"a/b"`},
	{Key, Text, nil, "its key", "key:monthly/2026-11"},
	{ID, Number, nil, "its id", "id:70412"},
	{Worker, Text, nil, "who claimed it last", "worker:host-a*"},
	{Tag, Text, nil, "one of its tags", "tag:urgent"},
	{Error, Text, nil, "an attempt failed with this class, or with this in its message", `error:"timeout"`},
	{Older, Span, nil, "enqueued longer ago than", "older:1h"},
	{Newer, Span, nil, "enqueued more recently than", "newer:7d"},
	{Enqueued, Moment, nil, "when it was enqueued", "enqueued:>2026-01-01"},
	{Finished, Moment, nil, "when it ended", "finished:>-2h"},
	{Due, Moment, nil, "when it may run, while it is scheduled or retryable", "due:<+10m"},
	{Attempts, Number, nil, "attempts used of its budget", "attempts:>3"},
	{Lease, Choice, []string{LeaseExpired, LeaseLive, LeaseLapsed, LeaseLost}, "a lease of it expired at least once; or it runs under a live one, under one that has passed, or its last one was lost", "lease:expired"},
	{Refused, Choice, []string{"yes", "no"}, "a late write was refused", "refused:yes"},
	{Lost, Moment, nil, "when a lease of it expired", "lost:>-15m"},
	{Late, Moment, nil, "when a late write was refused", "late:>-15m"},
	{Incident, Number, nil, "an incident touches it", "incident:12"},
	{Args, Payload, nil, "a value in its args, by path", "args.customer_id:1970670598291982290"},
}

// Info tells about a field; ok is false when there is none of that name.
func Info(name Field) (info FieldInfo, ok bool) {
	for _, f := range Fields {
		if f.Name == name {
			return f, true
		}
	}
	return FieldInfo{}, false
}
