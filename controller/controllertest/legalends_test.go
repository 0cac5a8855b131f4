package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/controllertest"
)

// remember makes a Secret for each text of a vault that it has seen, as a Deployment has a ReplicaSet for each template.
func remember(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: vault.Name + "-" + vault.Data["text"]}}
	_, err := c.client.CoreV1().Secrets(vault.Namespace).Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// rememberLater waits for ten seconds, in case that the user is not done.
func rememberLater(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	vault, err := c.maps.ConfigMaps(vault.Namespace).Get(vault.Name)
	if err != nil {
		return err
	}
	return remember(ctx, c, vault)
}

// hurried changes a vault a second after it was made.
func hurried(sync func(context.Context, *classic, *corev1.ConfigMap) error, faults ...controllertest.Fault) controllertest.Scenario {
	return controllertest.Scenario{
		Start: start(sync),
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault + "data: {text: one}\n"),
			controllertest.Wait(time.Second),
			controllertest.Patch("configmap/web", `{"data":{"text":"two"}}`),
			controllertest.Settle(),
		},
		Faults: faults,
	}
}

func TestLegalEnds_AFaultMayHideWhatWasThereInBetween(t *testing.T) {
	report := explore(t, hurried(remember, controllertest.HoldSeconds, controllertest.Outage))
	require.Equal(t, report.Planned, report.Fired)
	require.Empty(t, report.Findings)
}

func TestLegalEnds_AFaultMayShowWhatTheProgramWouldNotHaveSeen(t *testing.T) {
	report := explore(t, hurried(rememberLater, controllertest.HoldMinutes))
	require.Equal(t, report.Planned, report.Fired)
	require.Empty(t, report.Findings)
}

// The program writes down another number in each play, but only for a text that it does not see in the play without faults.
func TestLegalEnds_ChanceInOneOfThemIsNotCompared(t *testing.T) {
	var chance atomic.Int32
	s := hurried(func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
		err := rememberLater(ctx, c, vault)
		secret, found := c.client.CoreV1().Secrets(vault.Namespace).Get(ctx, "web-one", metav1.GetOptions{})
		if err != nil || found != nil || secret.StringData != nil || secret.Data != nil {
			return err
		}
		secret.StringData = map[string]string{"n": strconv.Itoa(int(chance.Add(1)))}
		_, err = c.client.CoreV1().Secrets(vault.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
		return err
	}, controllertest.HoldMinutes)
	report := explore(t, s)
	require.Equal(t, report.Planned, report.Fired)
	require.NotZero(t, chance.Load())
	require.Empty(t, report.Findings)
}

// An invariant that only a play without a fault breaks: the program starts again after the last step.
func TestLegalEnds_AnInvariantThatIsBrokenThereIsAFinding(t *testing.T) {
	scenario := hurried(remember, controllertest.ServerError)
	scenario.Always = func(v controllertest.View) error {
		if v.Get("Secret", "default", "web-two") != nil && v.Get("Secret", "default", "web-one") == nil {
			return errors.New("two comes before one")
		}
		return nil
	}
	const when = "the program starts again after step 3"
	scenario.Without = map[controllertest.Oracle]string{controllertest.SameState: "this test looks at the invariant"}
	finding := only(t, explore(t, scenario))
	require.Equal(t, when, finding.Faults)
	require.Equal(t, []string{"invariant: after program create secrets default/web-two #1: two comes before one"}, finding.Problems)
	require.Contains(t, finding.Story, "program create secrets default/web-two #1: version")

	setFlag(t, "fault", when)
	report := explore(t, scenario)
	require.Zero(t, report.Planned)
	require.Equal(t, when, only(t, report).Faults)

	setFlag(t, "fault", "500 error: program create secrets default/web-two #1")
	report = explore(t, scenario)
	require.Equal(t, 1, report.Fired)
	require.Empty(t, report.Findings, "another plan is named")
}

// With -v the test says once what is legal, too, and with the flag how it came to be.
func TestLegalEnds_AreToldOnce(t *testing.T) {
	many := func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
		for n := range 5 {
			copied := vault.DeepCopy()
			copied.Name = "web" + strconv.Itoa(n)
			if err := remember(ctx, c, copied); err != nil {
				return err
			}
		}
		return nil
	}
	scenario := hurried(many, controllertest.HoldSeconds)
	scenario.Steps = append(scenario.Steps, controllertest.Wait(time.Second), controllertest.Settle())
	const when = "the program starts again after step 3"
	printed := printedBy(t, func(t *testing.T) { controllertest.Explore(t, scenario) })
	var legal []string
	for line := range strings.Lines(printed) {
		if _, what, ok := strings.Cut(line, "legal, too, if "); ok {
			legal = append(legal, strings.TrimSpace(what))
		}
	}
	require.Equal(t, []string{
		when + ": Secret default/web0-one: missing",
		when + ": Secret default/web1-one: missing",
		when + ": Secret default/web2-one: missing",
		when + ": … and 2 more",
	}, legal)
	require.NotContains(t, printed, "sees ADDED")

	longer := hurried(many, controllertest.HoldSeconds)
	longer.Steps = append(longer.Steps[:3], controllertest.Wait(time.Second), controllertest.Patch("configmap/web", `{"data":{"text":"three"}}`), controllertest.Settle())
	printedOfLonger := printedBy(t, func(t *testing.T) { controllertest.Explore(t, longer) })
	for n := range 5 {
		require.Equal(t, 1, strings.Count(printedOfLonger, fmt.Sprintf(": Secret default/web%d-one: missing\n", n)), "also what one timing had no room for")
	}

	setFlag(t, "fault", when)
	printed = printedBy(t, func(t *testing.T) { controllertest.Explore(t, scenario) })
	require.Contains(t, printed, "--- step 3: patch configmap/web")
	require.Contains(t, printed, when+": … and 2 more")
}

// A program that does not try again lacks the Secret of the last text, which is legal at no time.
func TestLegalEnds_WhatIsWrongAtAnyTimeIsFound(t *testing.T) {
	once := func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
		_ = remember(ctx, c, vault)
		return nil
	}
	finds(t, hurried(once), controllertest.SameState, controllertest.ServerError, "program create secrets default/web-two #1")
}
