package request

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// body is what is sent: the job's, with the target's fields in it. It is the
// same for every attempt.
func (t *target) body(args Args) ([]byte, error) {
	if args.Method == http.MethodGet {
		return nil, nil
	}
	if len(t.fields) == 0 {
		return args.Body, nil
	}
	given := map[string]json.RawMessage{}
	if len(args.Body) > 0 && json.Unmarshal(args.Body, &given) != nil {
		return nil, errors.New("args.body: must be an object: this target puts fields into it")
	}
	out := bytes.NewBufferString("{")
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		if _, twice := given[name]; twice {
			return nil, errors.New("args.body: holds a field that this target sets itself")
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "%s:%s", quoted, t.fields[name])
	}
	if len(given) == 0 {
		out.WriteByte('}')
		return out.Bytes(), nil
	}
	out.WriteByte(',')
	out.Write(bytes.TrimSpace(args.Body)[1:])
	return out.Bytes(), nil
}

// sign adds the headers of the Standard Webhooks specification.
func sign(h http.Header, key []byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
