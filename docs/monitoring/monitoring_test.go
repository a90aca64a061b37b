// Package monitoring holds the dashboard and the alert rules against
// Prometheus' own parsers. It is a module of its own, so that Prometheus is no
// dependency of the product.
package monitoring

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func TestPrometheusTakesTheAlertRules(t *testing.T) {
	groups, errs := rulefmt.ParseFile("alerts.yaml", false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := 0
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			rules++
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
				t.Errorf("%s does not say what to do", rule.Alert)
			}
		}
	}
	if rules < 10 {
		t.Errorf("only %d rules were found", rules)
	}
}

func TestPrometheusTakesEveryExpressionOfTheDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	expressions := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions++
			expr := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
	if expressions < 20 {
		t.Errorf("only %d expressions were found", expressions)
	}
}
