package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	maxTopics = 50  // that one stream may follow
	maxRows   = 500 // jobs that one topic of rows may name

	topicOperation = "operation:" // and an id: one operation's page

	topicJob  = "job:"  // and an id: one job's page
	topicRows = "rows:" // and ids with commas: the rows of these jobs, where they stand
	topicList = "jobs:" // and a filter, as a query: the first page of a list
)

// sourceOf reads a topic. It is the only place that knows their spelling.
func (s *Server) sourceOf(c echo.Context, topic string) (source, error) {
	switch {
	case topic == views.TopicHome:
		return &reading{server: s, read: readHome}, nil
	case topic == views.TopicJobs:
		return &reading{server: s, read: readRows(views.List{})}, nil
	case topic == views.TopicQueues:
		return &reading{server: s, read: readQueues}, nil
	case topic == views.TopicWorkers:
		return &reading{server: s, read: readWorkers}, nil
	case topic == views.TopicVerification:
		return &reading{server: s, read: readVerification}, nil
	case topic == views.TopicIncidents:
		return &reading{server: s, read: readIncidents}, nil
	case strings.HasPrefix(topic, views.TopicIncident):
		if id, ok := parseID(topic[len(views.TopicIncident):]); ok {
			return &reading{server: s, read: readIncident(id)}, nil
		}
	case topic == views.TopicOperations:
		return &reading{server: s, read: readOperations}, nil
	case strings.HasPrefix(topic, topicOperation):
		if id, ok := parseID(topic[len(topicOperation):]); ok {
			return &reading{server: s, read: readOperation(id)}, nil
		}
	case strings.HasPrefix(topic, topicJob):
		if id, ok := parseID(topic[len(topicJob):]); ok {
			return &jobRoom{server: s, id: id}, nil
		}
	case strings.HasPrefix(topic, topicRows):
		if ids, ok := parseIDs(topic[len(topicRows):]); ok {
			return &rowsRoom{server: s, ids: ids}, nil
		}
	case strings.HasPrefix(topic, topicList):
		q, err := url.ParseQuery(topic[len(topicList):])
		if err != nil {
			break
		}
		l, err := s.listOf(c, q)
		if err != nil {
			return nil, err
		}
		return &reading{server: s, read: readRows(views.List{Filter: store.Filter{Query: l.Query}, Kept: l.Kept})}, nil
	}
	for prefix, read := range namedReadings {
		if escaped, ok := strings.CutPrefix(topic, prefix); ok {
			name, err := url.QueryUnescape(escaped)
			scope := store.Scope(strings.TrimSuffix(prefix, ":"))
			if err == nil && scope.Check(name) == nil {
				return &reading{server: s, read: read(name)}, nil
			}
		}
	}
	return nil, &store.InvalidError{Field: views.ParamTopic, Message: "must be home, jobs, queues, workers, operations, incidents, verification, or job:, operation: or incident: and an id, or queue:, kind: or worker: and a name as it stands in a query"}
}

func parseIDs(text string) ([]int64, bool) {
	all := strings.Split(text, ",")
	if len(all) > maxRows {
		return nil, false
	}
	ids := make([]int64, len(all))
	for i, one := range all {
		id, ok := parseID(one)
		if !ok {
			return nil, false
		}
		ids[i] = id
	}
	slices.Sort(ids)
	return slices.Compact(ids), true
}

// listTopics is what a page of the list follows: its rows where they stand
// and, where it begins with the newest job, what joins the list.
func listTopics(p views.JobsPage) []string {
	var topics []string
	if p.Problem == nil && p.Page.Order == store.OrderNewest && p.Page.Prev.ID == 0 && p.Filter.After.ID == 0 && p.Filter.Before.ID == 0 {
		topics = append(topics, listTopic(p.List))
	}
	if len(p.Page.Jobs) > 0 {
		ids := make([]string, len(p.Page.Jobs))
		for i, j := range p.Page.Jobs {
			ids[i] = decimal(j.ID)
		}
		topics = append(topics, topicRows+strings.Join(ids, ","))
	}
	return topics
}

// listTopic is the topic of a list's first page. It names a search that is kept
// and never what such a search holds.
func listTopic(l views.List) string {
	if name := l.Name(); name != "" {
		return topicList + name
	}
	return views.TopicJobs
}
