package web

import "net/http"

// missing holds back an answer of 404, so that ours can be sent instead.
type missing struct {
	http.ResponseWriter
	is bool
}

func (m *missing) WriteHeader(status int) {
	if status == http.StatusNotFound {
		m.is = true
		return
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *missing) Write(b []byte) (int, error) {
	if m.is {
		return len(b), nil
	}
	return m.ResponseWriter.Write(b)
}
