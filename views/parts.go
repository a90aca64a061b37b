package views

import "github.com/a-h/templ"

// JobParts are the components of [JobLive], each with one root: what a stream
// sends when it differs from what was sent before.
func JobParts(p JobPage) []templ.Component {
	return []templ.Component{
		jobHead(p), jobFacts(p), jobLanes(p), jobTransitions(p), jobErrors(p), jobPayload(p), jobRelated(p),
	}
}

// HomeParts are the components of [HomeLive], each with one root.
func HomeParts(p HomePage) []templ.Component {
	return []templ.Component{
		answer(p), teaching(p), cards(p), states(p), newestJobs(p), refusals(p), drillAgain(p),
	}
}
