package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/views"
)

const (
	maxTopics = 50  // that one stream may follow
	maxRows   = 500 // jobs that one topic of rows may name

	topicJob  = "job:"  // and an id: one job's page
	topicRows = "rows:" // and ids with commas: the rows of these jobs, where they stand
	topicList = "jobs:" // and a filter, as a query: the first page of a list
)

// sourceOf reads a topic. It is the only place that knows their spelling.
func (s *Server) sourceOf(topic string) (source, error) {
	switch {
	case topic == views.TopicHome:
		return &reading{server: s, read: readHome}, nil
	case topic == views.TopicJobs:
		return &reading{server: s, read: readList(store.Filter{})}, nil
	case strings.HasPrefix(topic, topicJob):
		if id, ok := parseID(topic[len(topicJob):]); ok {
			return &jobRoom{server: s, id: id}, nil
		}
	case strings.HasPrefix(topic, topicRows):
		if ids, ok := parseIDs(topic[len(topicRows):]); ok {
			return &rowsRoom{server: s, ids: ids}, nil
		}
	case strings.HasPrefix(topic, topicList):
		if f, ok := parseFilter(topic[len(topicList):]); ok {
			return &reading{server: s, read: readList(f)}, nil
		}
	}
	return nil, &store.InvalidError{Field: views.ParamTopic, Message: "must be home, jobs, or job: and a job's id"}
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

func parseFilter(text string) (store.Filter, bool) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return store.Filter{}, false
	}
	f, err := jobsFilter(q)
	return store.Filter{State: f.State, Kind: f.Kind, Queue: f.Queue, Key: f.Key}, err == nil
}

// listTopics is what a page of the list follows: its rows where they stand
// and, where it begins with the newest job, what joins the list.
func listTopics(p views.JobsPage) []string {
	var topics []string
	if p.Problem == nil && p.Filter.Before == 0 {
		topics = append(topics, listTopic(p.Filter))
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

func listTopic(f store.Filter) string {
	q := url.Values{}
	for name, value := range map[string]string{
		views.ParamState: string(f.State), views.ParamKind: f.Kind, views.ParamQueue: f.Queue, views.ParamKey: f.Key,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return views.TopicJobs
	}
	return topicList + q.Encode()
}
