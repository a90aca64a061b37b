package views

import (
	"github.com/a-h/templ"

	"github.com/fenceline/fenceline/store"
)

const (
	// RouteVerification shows what was checked of the log by itself.
	RouteVerification = "/verification"

	// TopicVerification is the topic of a stream that tells when more was checked.
	TopicVerification = "verification"
)

// VerificationPage is what was checked of the log by itself.
type VerificationPage struct {
	Frame
	View store.Verification
}

// VerificationParts are what a stream sends of the page.
func VerificationParts(p VerificationPage) []templ.Component {
	return []templ.Component{verificationVerdict(p), verificationFacts(p), violations(p)}
}

func verifiedTone(v store.Verification) Tone {
	switch {
	case v.Unsettled > 0:
		return ToneBad
	case v.N == 0:
		return ToneWait
	}
	return ToneOK
}

func verifiedVerdict(v store.Verification) string {
	switch {
	case v.Unsettled > 0:
		return "The log holds " + Plural(v.Unsettled, "violation") + ": " + Plural(v.Open, "write") + " of attempts without authority " + plain(v.Open, "was", "were") + " accepted."
	case v.N == 0:
		return "The log is not checked yet: no process that looks after the database has run."
	case v.Violations > 0:
		return "Nothing new was found since a person resolved the last incident about it."
	}
	return "No write of an attempt without authority was ever accepted, in " + Plural(v.N, "transition") + "."
}
