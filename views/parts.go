package views

import "github.com/a-h/templ"

// JobParts are the parts of a job's page, each with one root that has an id:
// what a stream sends when it differs from what was sent before.
func JobParts(p JobPage) []templ.Component {
	return []templ.Component{
		jobHead(p), jobFacts(p), jobLanes(p), jobTransitions(p), jobErrors(p), jobPayload(p), jobRelated(p),
	}
}

// HomeParts are the components of [HomeLive], each with one root.
func HomeParts(p HomePage) []templ.Component {
	return []templ.Component{
		answer(p), teaching(p), unhandledPart("unhandled", p.Home.Unhandled, p.Frame), cards(p), openIncidents(p), lostWorkers(p), states(p), homeQueues(p), trendCharts(p), newestJobs(p), refusals(p), drillAgain(p),
	}
}
