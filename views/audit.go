package views

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/fenceline/fenceline/store"
)

// The addresses of the audit, and the parameters of its filter.
const (
	RouteAudit       = "/audit"
	RouteAuditExport = "/audit/export"

	ParamActor     = "actor"
	ParamAction    = "action"
	ParamOutcome   = "outcome"
	ParamJob       = "job"
	ParamOperation = "operation"
	ParamFrom      = "from"
	ParamTo        = "to"
	ParamFormat    = "format" // export: [FormatCSV] or [FormatLines]

	FormatCSV   = "csv"
	FormatLines = "jsonl"
)

// AuditPage is the page of the audit.
type AuditPage struct {
	Frame
	Filter  store.AuditFilter
	Typed   map[string]string // the filter as it was typed, by parameter
	Page    store.AuditPage
	Problem *store.InvalidError // which field of the filter cannot be used
}

// auditFields are the fields of the filter, in their order.
var auditFields = []struct{ param, label, example string }{
	{ParamActor, "Actor", ""}, {ParamAction, "Action", "requeue"}, {ParamOutcome, "Outcome", "done"}, {ParamJob, "Job id", ""},
	{ParamOperation, "Operation", ""}, {ParamFrom, "From, UTC", "2026-01-31T09:30"}, {ParamTo, "Before, UTC", "2026-02-01"},
}

// AuditParams lists the parameters of the filter.
func AuditParams() []string {
	out := make([]string, len(auditFields))
	for i, f := range auditFields {
		out[i] = f.param
	}
	return out
}

func (p AuditPage) query() url.Values {
	q := url.Values{}
	for _, f := range auditFields {
		if text := p.Typed[f.param]; text != "" {
			q.Set(f.param, text)
		}
	}
	return q
}

func (p AuditPage) wrong(param string) bool { return p.Problem != nil && p.Problem.Field == param }

// older is the address of the page that follows.
func (p AuditPage) older() string {
	q := p.query()
	q.Set(ParamAfter, decimal(p.Page.Next))
	return withQuery(p.URLs.At(RouteAudit), q)
}

func (p AuditPage) first() string { return withQuery(p.URLs.At(RouteAudit), p.query()) }

func (p AuditPage) export(format string) string {
	q := p.query()
	q.Set(ParamFormat, format)
	return withQuery(p.URLs.At(RouteAuditExport), q)
}

// nothings are members of an object that say nothing, as who may act in all
// queues has none. A quote within a text is escaped, so none of them matches one.
var nothings = []*regexp.Regexp{
	regexp.MustCompile(`, "[a-z_]+": (?:null|\[\])()`),
	regexp.MustCompile(`^(\{)"[a-z_]+": (?:null|\[\])(?:, )?`),
}

// auditDetail writes what an entry holds beside its columns, for people.
func auditDetail(e store.AuditEntry) string {
	text := string(e.Detail)
	for _, nothing := range nothings {
		text = nothing.ReplaceAllString(text, "$1")
	}
	if text == "{}" {
		return ""
	}
	return strings.NewReplacer(`{"`, "", `"}`, "", `}`, "", `", "`, " · ", `, "`, " · ", `": "`, ": ", `": `, ": ", `"`, "").Replace(text)
}
