package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// container reads the command of a container.
func (e *entry) container(namespace string, c container) error {
	e.environment(namespace, c)
	var words []word
	for _, text := range append(append([]string{}, c.Command...), c.Args...) {
		words = append(words, dependent(text))
	}
	if len(c.Command) == 0 {
		image, _, _ := strings.Cut(c.Image, "@")
		name := image[strings.LastIndexByte(image, '/')+1:]
		if name, _, _ = strings.Cut(name, ":"); name != "curl" {
			return errors.New("the container has no command; write it, because what its image runs is not known")
		}
		if len(words) == 0 || !isCommand(words[0]) {
			words = append([]word{literal("curl")}, words...)
		}
	}
	overlap := e.job.overlap // of the CronJob, which a flock would replace
	if err := e.readCommand(words, ""); err != nil {
		return err
	}
	if e.lock.key != "" {
		e.job.overlap = overlap
		e.notes = slices.DeleteFunc(e.notes, func(n note) bool { return n.aspect == Overlaps && strings.HasPrefix(n.text, "flock") })
		e.note(Overlaps, "flock in a pod locks a file of this pod; the job takes over concurrencyPolicy alone")
	}
	return nil
}

// environment reads the variables of a container. A value that is made of others, of which one is not in the
// manifest or is a secret, is as one that comes from a Secret: the registry has the variable's name.
func (e *entry) environment(namespace string, c container) {
	env, origins := map[string]string{}, map[string]string{}
	e.call.env, e.call.origins = env, origins
	for i, v := range c.Env {
		switch {
		case v.Value != nil:
			var known bool
			w := c.resolve(dependent(*v.Value), i)
			if env[v.Name], known = w.literal(env); !known {
				origins[v.Name] = "value " + e.call.originOf(w)
				delete(env, v.Name)
			}
		case v.ValueFrom.Secret != nil:
			origins[v.Name] = fmt.Sprintf("secret %s/%s/%s", namespace, v.ValueFrom.Secret.Name, v.ValueFrom.Secret.Key)
		case v.ValueFrom.Config != nil:
			origins[v.Name] = fmt.Sprintf("config %s/%s/%s", namespace, v.ValueFrom.Config.Name, v.ValueFrom.Config.Key)
		}
	}
}

// resolve leaves a variable in a value if Kubernetes replaces it: it is defined above, or not in the manifest,
// such as the address of a service. Kubernetes does not replace any other $(NAME).
func (c container) resolve(value word, at int) (w word) {
	for _, p := range value {
		above := slices.ContainsFunc(c.Env[:at], func(v envVar) bool { return v.Name == p.text })
		if p.variable && !above && len(c.EnvFrom) == 0 && !strings.Contains(p.text, "_SERVICE_") {
			p = part{text: "$(" + p.text + ")"}
		}
		w = append(w, p)
	}
	return w
}

// isCommand reports whether the image of curl runs its first argument as a command, as
// the image's entrypoint decides: an option or what is no command is for curl.
func isCommand(w word) bool {
	text, ok := w.literal(nil)
	switch {
	case !ok || text == "" || text[0] == '-' || strings.Contains(text, "://"):
		return false
	case text[0] == '/' || text[0] == '.':
		return true
	}
	return !strings.ContainsAny(text, ".:/") // a host with a domain, a port or a path
}

// podRetries takes over what Kubernetes does with a pod that failed.
func (e *entry) podRetries(limit *int) {
	n := 6 // the default of backoffLimit
	if limit != nil {
		n = max(0, *limit)
	}
	if len(e.job.backoff) > 0 { // both multiply in the source; the job has one list of waits
		e.note(Retries, "curl's retries are taken over; those of the pod (backoffLimit %d) are not", n)
		return
	}
	e.notes = slices.DeleteFunc(e.notes, func(n note) bool {
		return n.aspect == Retries && strings.HasPrefix(n.text, "the source does not retry")
	})
	e.retry(n, 10*time.Second, 6*time.Minute)
	e.note(Retries, "backoffLimit %d: the waits of Kubernetes, 10s doubling to 6m, as a list", n)
}

// dependent reads the $(NAME) references that Kubernetes puts values into; $$ is a $.
func dependent(text string) word {
	var w word
	var plain strings.Builder
	for text != "" {
		end := strings.IndexByte(text, ')')
		switch {
		case strings.HasPrefix(text, "$$"):
			plain.WriteByte('$')
			text = text[2:]
		case strings.HasPrefix(text, "$(") && end > 0 && isName(text[2:end]):
			w = append(append(w, textPart(plain.String())...), part{text[2:end], true})
			plain.Reset()
			text = text[end+1:]
		default:
			plain.WriteByte(text[0])
			text = text[1:]
		}
	}
	return append(w, textPart(plain.String())...)
}
