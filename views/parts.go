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
		answer(p), teaching(p), unhandledPart("unhandled", p.Home.Unhandled, homeUnhandled, p.Frame), cards(p), openIncidents(p), lostWorkers(p), states(p), homeQueues(p), trendCharts(p), newestJobs(p), refusals(p), drillAgain(p),
	}
}

// homeUnhandled is how much of the work that nobody takes the triage page names:
// what else it says must stay in sight.
const homeUnhandled = 4
