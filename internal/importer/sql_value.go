package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// sqlBare returns an expression without casts and without parentheses around it. A query keeps its
// parentheses, by which sqlVariable knows it.
func sqlBare(tokens []sqlToken) []sqlToken {
	tokens = sqlSplit(tokens, "::")[0]
	if inner, rest, ok := sqlInner(tokens); ok && len(rest) == 0 && (len(inner) == 0 || !inner[0].named("select")) {
		return sqlBare(inner)
	}
	return tokens
}

var errSQLValue = errors.New("an argument is an expression that the importer cannot read; it reads texts, ||, " +
	"jsonb_build_object, current_setting and secrets of vault.decrypted_secrets")

// sqlWord returns the value of an expression of texts. A secret of the vault and a setting are
// variables.
func sqlWord(tokens []sqlToken) (word, error) {
	tokens = sqlBare(tokens)
	if parts := sqlSplit(tokens, "||"); len(parts) > 1 {
		var all word
		for _, part := range parts {
			w, err := sqlWord(part)
			if err != nil {
				return nil, err
			}
			all = append(all, w...)
		}
		return joined(all), nil
	}
	if len(tokens) == 1 && (tokens[0].isText() || tokens[0].kind == sqlNumber) {
		return literal(tokens[0].text), nil
	}
	if name := sqlVariable(tokens); name != "" {
		return word{{variable(name), true}}, nil
	}
	return nil, errSQLValue
}

// joined puts texts that follow each other into one part.
func joined(w word) (out word) {
	for _, p := range w {
		if last := len(out) - 1; last >= 0 && !p.variable && !out[last].variable {
			out[last].text += p.text
		} else {
			out = append(out, p)
		}
	}
	return out
}

// sqlVariable names the value that the database looks up: a secret of Supabase's vault or
// a setting.
func sqlVariable(tokens []sqlToken) string {
	var texts []string
	for _, t := range tokens {
		if t.isText() {
			texts = append(texts, t.text)
		}
	}
	name, _, call := sqlCall(tokens)
	inner, rest, query := sqlInner(tokens)
	switch {
	case call && name == "current_setting" && len(texts) == 1:
		return texts[0][strings.LastIndexByte(texts[0], '.')+1:]
	case query && len(rest) == 0 && len(inner) > 1 && inner[0].named("select") && inner[1].named("decrypted_secret") && len(texts) == 1:
		return texts[0]
	}
	return ""
}

// sqlJSON returns the JSON value of an expression; variables in it are words.
func sqlJSON(tokens []sqlToken) (any, error) {
	tokens = sqlBare(tokens)
	if name, args, ok := sqlCall(tokens); ok && (name == "jsonb_build_object" || name == "json_build_object") {
		return sqlObject(args)
	}
	w, err := sqlWord(tokens)
	if err != nil {
		return nil, err
	}
	// A variable may stand within a text of the JSON, as in '{"a": "' || x || '"}'. So the
	// JSON is read with a marked number in its place, and unmarked puts the variable back.
	marked := ""
	for i, p := range w {
		if p.variable {
			p.text = fmt.Sprintf("%s%d%s", marker, i, marker)
		}
		marked += p.text
	}
	var value any
	d := json.NewDecoder(strings.NewReader(marked))
	d.UseNumber()
	if d.Decode(&value) != nil || d.More() {
		return nil, errors.New("an argument is not valid JSON; pg_net needs JSON there")
	}
	return unmarked(value, w), nil
}

// marker surrounds the number of a variable within JSON. It is a private character.
const marker = "\ue0c4"

// unmarked replaces each text with marked numbers by a word with the variables of these numbers.
func unmarked(value any, w word) any {
	switch v := value.(type) {
	case string:
		parts, out := strings.Split(v, marker), word{}
		for i, p := range parts {
			n := 0
			if _, err := fmt.Sscan(p, &n); i%2 == 1 && err == nil && n >= 0 && n < len(w) {
				out = append(out, w[n])
			} else {
				out = append(out, textPart(p)...)
			}
		}
		if len(parts) > 1 {
			return out
		}
	case map[string]any:
		for name := range v {
			v[name] = unmarked(v[name], w)
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i], w)
		}
	}
	return value
}

// sqlTextOrWord returns a constant, or a word with variables.
func sqlTextOrWord(tokens []sqlToken) (any, error) {
	w, err := sqlWord(tokens)
	if text, ok := w.literal(nil); ok {
		return text, err
	}
	return w, err
}

// sqlObject reads the arguments of jsonb_build_object: names and values in turn.
func sqlObject(args []sqlToken) (map[string]any, error) {
	items, object := sqlSplit(args, ","), map[string]any{}
	for i := 0; i+1 < len(items); i += 2 {
		name, err := sqlWord(items[i])
		if err != nil {
			return nil, err
		}
		key, ok := name.literal(nil)
		if !ok {
			return nil, errSQLValue
		}
		value, constant := any(nil), false
		if bare := sqlBare(items[i+1]); len(bare) == 1 {
			value, constant = bare[0].constant()
		}
		if !constant {
			if call, inner, ok := sqlCall(sqlBare(items[i+1])); ok && strings.HasSuffix(call, "_build_object") {
				value, err = sqlObject(inner)
			} else {
				value, err = sqlTextOrWord(items[i+1])
			}
		}
		if err != nil {
			return nil, err
		}
		object[key] = value
	}
	return object, nil
}
