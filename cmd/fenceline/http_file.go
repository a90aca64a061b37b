package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fenceline/fenceline/store"
	"github.com/fenceline/fenceline/store/notice"
	"github.com/fenceline/fenceline/worker/request"
)

// httpFile is the file that --http names: targets of requests, and which of them
// are told of incidents. It is read with the
// command line, so that a mistake in it keeps anything from being started. Its
// errors name fields by their path, and quote no value: values may be secrets.
type httpFile struct {
	path    string
	open    bool // others than the owner may read it
	Targets map[string]request.Target
	Notify  []notice.Rule
	Console string // where people reach the console, for links in notices
}

const maxHTTPFile = 1 << 20 // bytes

// UnmarshalText reads the file that a flag or a variable names.
func (f *httpFile) UnmarshalText(text []byte) error {
	*f = httpFile{path: string(text)}
	if f.path == "" {
		return nil
	}
	from, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer from.Close()
	if info, err := from.Stat(); err == nil && runtime.GOOS != "windows" {
		f.open = info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxHTTPFile+1))
	switch {
	case err != nil:
		return err
	case len(raw) > maxHTTPFile:
		return fmt.Errorf("%s: is longer than %d bytes", f.path, maxHTTPFile)
	}
	if err := f.read(raw); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

func (f *httpFile) read(raw []byte) error {
	if err := readObject("", raw, known{"targets": f.readTargets, "notify": f.readNotify, "console": f.readConsole}); err != nil {
		return err
	}
	for n, r := range f.Notify {
		at := fmt.Sprintf("notify.%d.target", n)
		if _, ok := f.Targets[r.Target]; !ok {
			return errors.New(at + ": names no target of this file")
		}
		if slices.ContainsFunc(f.Notify[:n], func(before notice.Rule) bool { return before.Target == r.Target }) {
			return errors.New(at + ": is told already by a rule before")
		}
	}
	return request.Check(f.Targets)
}

func (f *httpFile) readNotify(at string, raw json.RawMessage) error {
	var all []json.RawMessage
	if err := into(&all, "a list of objects")(at, raw); err != nil {
		return err
	}
	for n, one := range all {
		r, err := notice.Parse(one)
		var invalid *store.InvalidError
		switch {
		case errors.As(err, &invalid) && invalid.Field == "":
			return fmt.Errorf("%s.%d: %s", at, n, invalid.Message)
		case err != nil:
			return fmt.Errorf("%s.%d.%w", at, n, err)
		}
		f.Notify = append(f.Notify, r)
	}
	return nil
}

func (f *httpFile) readConsole(at string, raw json.RawMessage) error {
	if err := into(&f.Console, "a text")(at, raw); err != nil {
		return err
	}
	if u, err := url.Parse(f.Console); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New(at + ": must be where people reach the console, as https://fenceline.example")
	}
	f.Console = strings.TrimRight(f.Console, "/")
	return nil
}

func (f *httpFile) readTargets(at string, raw json.RawMessage) error {
	f.Targets = map[string]request.Target{}
	return eachField(at, raw, func(name, at string, value json.RawMessage) error {
		t, err := readTarget(at, value)
		f.Targets[name] = t
		return err
	})
}

func readTarget(at string, raw json.RawMessage) (t request.Target, err error) {
	err = readObject(at, raw, known{
		"url": into(&t.URL, "a text"), "secret": into(&t.Secret, "a text"), "ca_file": into(&t.CAFile, "a text"),
		"headers": into(&t.Headers, "an object of texts"), "fields": into(&t.Fields, "an object"),
		"allow":   into(&t.Allow, `a list of networks, as "10.0.0.0/8"`),
		"timeout": func(at string, raw json.RawMessage) error { return readDuration(at, raw, &t.Timeout) },
	})
	return t, err
}

func readDuration(at string, raw json.RawMessage, d *time.Duration) error {
	var text string
	err := json.Unmarshal(raw, &text)
	if err == nil {
		*d, err = time.ParseDuration(text)
	}
	if err != nil || *d == 0 {
		return errors.New(at + `: must be a time, as "10s"`)
	}
	return nil
}

// warn tells when secrets lie open.
func (f httpFile) warn(log *slog.Logger) {
	if f.open {
		log.Warn("others than its owner may read the file of --http; give it the mode 0600", "file", f.path)
	}
}
