#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""openapi.py list FILE: lists its operations, one METHOD PATH per line
openapi.py routes FILE: compares it with the source, front/route.c and wire/wire.h. Paths of other
  services (`aliases` there) are not part of it.
openapi.py ask OPTIONS: checks the answers of a service. Each line of standard input names an
  operation and a process, separated by tabs: NAME, FILE, METHOD PATH, PID and the pid of a process
  without profiling.

Requests are generated from FILE: with each parameter and each of its values, with invalid ones,
without a token, with each role, for processes that do not exist or cannot be profiled. Prints a
line per operation, separated by tabs: NAME, the number of errors, and the errors or the number of
requests.
"""
import argparse
import http.client
import json
import os
import re
import socket
import sys

ROLES = ("read", "profile", "control")
NOBODY = 4194304  # beyond the usual maximum of pids
METHODS = ("get", "head", "post", "delete")
# Not in the file: headers of all responses, and those that the library adds.
COMMON = {"date", "content-type", "content-length", "connection", "content-security-policy"}


class Unix(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Api:
    made = {}  # by the text of a schema: most files have the same

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.doc = json.load(f)
        with open(os.path.join("doc/schema", "jeprof-ctl.json"), encoding="utf-8") as f:
            self.documents = json.load(f)

    def resolve(self, thing):
        """Resolve "$ref", merged with its siblings."""
        while isinstance(thing, dict) and "$ref" in thing:
            beside = {key: value for key, value in thing.items() if key != "$ref"}
            at = self.doc
            for key in thing["$ref"].removeprefix("#/").split("/"):
                at = at[key]
            thing = {**at, **beside}
        return thing

    def operations(self):
        for path, item in self.doc["paths"].items():
            for method in item:
                yield method, path

    def operation(self, method, path):
        return self.doc["paths"][path][method]

    def parameters(self, op):
        return [self.resolve(p) for p in op.get("parameters", [])]

    def validator(self, schema):
        """jsonschema 4.17 and older can only resolve references within one document."""
        from jsonschema import Draft7Validator  # pylint: disable=import-outside-toplevel
        from jsonschema.validators import validator_for  # pylint: disable=import-outside-toplevel

        parts = self.doc["components"]["schemas"]
        text = json.dumps([schema, parts])
        if text not in self.made:
            text_of = json.dumps(schema).replace("jeprof-ctl.json#/$defs/", "#/$defs/")
            text_of = text_of.replace("#/components/schemas/", "#/$defs/")
            draft = validator_for(self.documents, default=Draft7Validator)
            self.made[text] = draft({"$schema": self.documents["$schema"],
                                     "$defs": {**self.documents["$defs"], **parts}, **json.loads(text_of)})
        return self.made[text]


# --- the source ---


def split(text):
    """Split at commas outside of brackets and strings."""
    parts = re.findall(r"((?:\"[^\"]*\"|\([^()]*(?:\([^()]*\)[^()]*)*\)|[^,()\"])+)(?:,|$)", text)
    return [part.strip() for part in parts]


def macro(text, name):
    return re.search(rf"#define {name} +(.*)", text)[1]


def table(text, name):
    """The rows of an X macro, as tuples of words and texts."""
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)+.*\n)", text)[1]
    return [[part.strip('"') for part in split(row)] for row in re.findall(r"X\(((?:\"[^\"]*\"|[^()])*)\)", body)]


def rows_of_source():
    with open("front/route.c", encoding="utf-8") as f:
        text = f.read()
    with open("wire/wire.h", encoding="utf-8") as f:
        wire = f.read()
    role = {row[0]: row[2].lower() for row in table(wire, "WIRE_OPS_ALL")}
    media = {row[0]: row[1] for row in table(wire, "WIRE_FORMATS_ALL")}
    names = {row[0]: row[1] for row in table(text, "PARAMS")}
    apis = {name: macro(text, name) for name in ("API_RUNS", "API_EVENTS", "API")}
    body = re.search(r"static const struct row rows\[\] = \{\n(.*?)\n\};", text, re.DOTALL)[1]
    for row in re.findall(r"\{ ((?:[^{}])*?) \}", body):
        methods, path, style, done, params, _, attached = split(" ".join(row.split()))
        path = re.sub(r"^(API|API_RUNS|API_EVENTS)\b", lambda m: apis[m[1]], path)
        path = re.sub(r'[" ]', "", path).replace("#", "{pid}").replace("@", "{run}")
        what, args = re.fullmatch(r"(ASK|OWN)\((.*)\)", done).groups()
        for _ in range(2):
            for name in ("PINNED", "SCRAPED", "SCRAPE", "LASTS"):
                params = re.sub(rf"\b{name}\b", macro(text, name), params)
                args = re.sub(rf"\b{name}\b", macro(text, name), args)
        args = split(args)
        for method in methods.replace(" ", "").split("|") if methods != "0" else []:
            yield (method.lower(), path), {
                "errors": {"ROUTE_PLAIN": "Text", "ROUTE_JSON": "Json", "ROUTE_PPROF": "Pprof"}[style],
                "role": role[args[0]] if what == "ASK" else None,
                "media type": media[args[1]] if what == "ASK" and args[0] != "RUN_DELETE" else None,
                "needs active": "WIRE_IF_ACTIVE" in args[-1],
                "passes over": bool(re.search(r"\bOTHERS\b", params)),
                "parameters": {names[name] for name in re.findall(r"TAKES\((\w+)\)", params)},
                "requires pid": "NEEDS_PID" in params,
                "is a file": attached == "true",
            }, media


def good_status(op):
    return next(int(status) for status in op["responses"] if status.startswith("2"))


def row_of_file(api, op):
    good = good_status(op)
    ok = op["responses"][str(good)]
    refs = {r["$ref"].rpartition("/")[2] for status, r in op["responses"].items() if status != str(good)}
    query = [p for p in api.parameters(op) if p["in"] == "query"]
    return {
        "errors": "/".join(sorted(refs)),
        "role": op["security"][0]["token"][0] if op["security"] else None,
        "media type": set(ok.get("content", {})),
        "needs active": op.get("x-needs-active", False),
        "passes over": op.get("x-passes-over", False),
        "parameters": {p["name"] for p in query},
        "requires pid": any(p["name"] == "pid" and p.get("required") for p in query),
        "is a file": "Content-Disposition" in ok.get("headers", {}),
    }


def compare_routes(api):
    wrong, source = [], {}
    for key, row, media in rows_of_source():
        source[key] = row
    in_file = set(api.operations())
    wrong += [f"not in the file: {m} {p}" for m, p in sorted(source.keys() - in_file)]
    wrong += [f"not in the source: {m} {p}" for m, p in sorted(in_file - source.keys())]
    for key in sorted(source.keys() & in_file):
        said = row_of_file(api, api.operation(*key))
        for what, value in source[key].items():
            fits = value is None or value in said[what] if what == "media type" else value == said[what]
            if not fits:
                wrong.append(f"{key[0]} {key[1]}: {what}: {said[what]}, and in the source {value}")
        in_path = [p["name"] for p in api.parameters(api.operation(*key)) if p["in"] == "path"]
        if re.findall(r"{(\w+)}", key[1]) != in_path:
            wrong.append(f"{key[0]} {key[1]}: what is in the path: {in_path}")
    for name, p in api.doc["components"]["parameters"].items():
        for value, kind in p.get("x-media-type", {}).items():
            if media[value.upper()] != kind:
                wrong.append(f"{name}={value}: {kind}, and in the source {media[value.upper()]}")
        if set(p.get("x-media-type", {})) - set(p["schema"].get("enum", [])):
            wrong.append(f"{name}: a type of what is no value")
    return wrong, len(source)


# --- the service ---


class Asker:
    def __init__(self, api, args, operation, pid, unprofiled):
        self.api, self.args, self.pid, self.unprofiled = api, args, pid, unprofiled
        self.method, self.path = method, path = operation.split(" ")
        self.op = api.operation(method, path)
        self.parameters = api.parameters(self.op)
        self.role = self.op["security"][0]["token"][0] if self.op["security"] else None
        self.good = good_status(self.op)
        self.wrong, self.asked, self.ended = [], 0, None

    def request(self, *how, **more):
        """Try again if nothing was done because we or the process got no CPU."""
        for _ in range(10):
            response, data = self.request_once(*how, **more)
            if response.status < 500 or not re.search(os.environ["NO_TIME"], data.decode(errors="replace")):
                break
        return response, data

    # A request over the Unix socket, or with a token (which may be "") over TCP.
    def request_once(self, method, uri, token=None, headers=(), body=None):
        if token is None:
            c = Unix(self.args.socket)
        else:
            c = http.client.HTTPConnection("127.0.0.1", self.args.port, timeout=120)
        headers = dict(headers)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            c.request(method.upper(), uri, body=body, headers=headers)
        except BrokenPipeError:  # answered before all of it was sent
            pass
        response = c.getresponse()
        data = response.read()
        c.close()
        self.asked += 1
        return response, data

    def uri(self, query=(), pid=None):
        pid = pid or self.pid
        query = dict(query)
        for p in self.parameters:
            if p["in"] == "query" and p.get("required"):
                query.setdefault(p["name"], pid)
        if any(p["name"] == "wait" for p in self.parameters):
            query.setdefault("wait", 0)
        path = self.path.replace("{pid}", str(pid))
        if "{run}" in path:
            path = path.replace("{run}", str(self.run()))
        return path + "?" * bool(query) + "&".join(f"{k}={v}" for k, v in query.items())

    def run(self):
        """Return the number of a run that has ended; a new one if each serves only one request."""
        if not self.ended or self.method == "delete":
            response, data = self.request("post", f"/api/v1/processes/{self.pid}/record")
            if response.status != 202:
                raise RuntimeError(f"record: {response.status} {data[:300]!r}")
            self.ended = json.loads(data)["id"]
            self.stop(self.ended)
        return self.ended

    def stop(self, run):
        response, data = self.request("post", f"/api/v1/runs/{run}/stop")
        if response.status != 200:
            self.wrong.append(f"stop: {response.status} {data[:300]!r}")

    def body(self):
        content = self.op.get("requestBody", {}).get("content", {})
        return next((c["example"] for c in content.values()), None)

    def ask(self, what, status, query=(), pid=None, uri=None, method=None, **how):
        """Returns the media type."""
        method = method or self.method
        how.setdefault("body", self.body())
        response, data = self.request(method, uri or self.uri(query, pid), **how)
        if response.status != status:
            self.wrong.append(f"{what}: {response.status} instead of {status}: {data[:300]!r}")
            return None
        self.wrong += [f"{what}: {w}" for w in self.faults(response, data, method == "head")]
        if response.status == 202:
            self.stop(response.getheader("Location").rpartition("/")[2])
        return response.getheader("Content-Type")

    # --- checks of an answer ---

    def faults(self, response, data, is_head):
        said = self.api.resolve(self.op["responses"].get(str(response.status)) or self.op["responses"]["default"])
        kind = response.getheader("Content-Type")
        yield from self.header_faults(response, said)
        if "content" not in said:
            if data or kind:
                yield f"{response.status} with a body, or its type"
            return
        if kind not in said["content"]:
            yield f"{response.status} with {kind}, which is not in the file"
            return
        schema = said["content"][kind].get("schema")
        if is_head:
            if data or not int(response.getheader("Content-Length")):
                yield "HEAD with a body, or of none"
        elif kind == "application/octet-stream":
            name = response.getheader("Content-Disposition", "")
            begin = b"heap_v2/" if name.endswith('.heap"') else b"\x1f\x8b"
            if not data.startswith(begin):
                yield f"{name} begins with {data[:8]!r}"
        else:
            content = json.loads(data) if kind == "application/json" else data.decode()
            checks = [(schema, content)]
            if "x-line-schema" in said["content"][kind]:
                of_line = said["content"][kind]["x-line-schema"]
                checks += [(of_line, json.loads(line)) for line in content.splitlines()]
            for of, thing in checks:
                for e in self.api.validator(of).iter_errors(thing):
                    yield f"{response.status}: {list(e.absolute_path)}: {e.message[:300]}"

    def header_faults(self, response, said):
        always = self.api.doc["x-headers-of-all-answers"]
        for name, value in always.items():
            if response.getheader(name) != value:
                yield f"{response.status}: {name} is {response.getheader(name)}"
        headers = {name.lower(): self.api.resolve(h) for name, h in said.get("headers", {}).items()}
        known = COMMON | {name.lower() for name in always} | headers.keys()
        for name, value in response.getheaders():
            if name.lower() not in known:
                yield f"{response.status}: {name} is not in the file"
            elif name.lower() in headers:
                schema = headers[name.lower()]["schema"]
                value = int(value) if schema.get("type") == "integer" and value.isdigit() else value
                if not self.api.validator(schema).is_valid(value):
                    yield f"{response.status}: {name}: {value}"
        if "x-go-pprof" in headers and not response.getheader("X-Go-Pprof"):
            yield f"{response.status} without X-Go-Pprof"
        for status, name in ((401, "WWW-Authenticate"), (405, "Allow"), (409, "Retry-After"), (503, "Retry-After")):
            if (response.status == status) != (response.getheader(name) is not None):
                yield f"{response.status}: {name} is {response.getheader(name)}"

    # --- requests ---

    def switch(self, on):
        uri = f"/api/v1/processes/{self.pid}/{'activate' if on else 'deactivate'}"
        response, data = self.request("post", uri)
        if response.status != 200:
            self.wrong.append(f"{uri}: {response.status} {data[:300]!r}")

    def values(self):
        """(parameter, value) for all optional parameters."""
        for p in self.parameters:
            if p["in"] == "path":
                continue
            if p["name"] == "pid":
                yield p, self.pid
            elif p["name"] == "base":
                yield p, self.run()
            elif p["name"] == "wait":
                yield p, 0
            elif "enum" in p["schema"]:
                yield from ((p, value) for value in p["schema"]["enum"])
            else:
                yield p, p.get("example", p["schema"].get("minimum"))

    def ask_well(self):
        kind = self.ask("plain", self.good)
        for p in self.parameters:
            types = p.get("x-media-type")
            if types and kind != types[p["schema"]["default"]]:
                self.wrong.append(f"plain: {kind}, and not that of {p['schema']['default']}")
        for p, value in self.values():
            query = {p["name"]: value}
            if "x-needs" in p and value != "0":
                self.ask(f"{query} alone", 400, query)
                query[p["x-needs"]] = self.pid
            kind = self.ask(str(query), self.good, query)
            if "x-media-type" in p and kind != p["x-media-type"][value]:
                self.wrong.append(f"{query}: {kind}")
            if "x-role" in p and value != "0":
                self.ask_roles(query, p["x-role"])

    def ask_badly(self):
        over = self.op.get("x-passes-over")
        self.ask("an unknown parameter", self.good if over else 400, {"nonsense": 1})
        for p in self.parameters:
            bounded = p["schema"].keys() & {"enum", "minimum", "pattern"}
            if p["in"] == "query" and bounded:
                self.ask(f"a wrong {p['name']}", 400, {p["name"]: "x-y"})
                self.ask(f"{p['name']} twice", 400, uri=self.uri({p["name"]: 1}) + f"&{p['name']}=1")
            if p["in"] == "query" and p.get("required"):
                self.ask(f"without {p['name']}", 400, uri=self.path)
        self.ask("too long", 414, uri=self.uri() + ("&" if "?" in self.uri() else "?") + "x" * 2048)
        self.ask("a body without a length", 411, headers={"Transfer-Encoding": "chunked"}, body="")
        self.ask("a body that is too long", 413, headers={"Content-Length": str(1 << 21)}, body="")
        allowed = [m.upper() for m in METHODS if m in self.api.doc["paths"][self.path]]
        response, _ = self.request("put", self.uri())
        if response.getheader("Allow") != ", ".join(allowed):
            self.wrong.append(f"Allow: {response.getheader('Allow')}")
        self.ask("another method", 405, method="put", body=None)

    def ask_roles(self, query=(), role=None):
        role = role or self.role
        for token in ("", "0" * 64):
            self.ask("without a token" if not token else "a token of nobody", 401 if role else self.good, query, token=token)
        for i, (name, token) in enumerate(zip(ROLES, self.args.tokens)):
            self.ask(f"role {name}", 403 if role and i < ROLES.index(role) else self.good, query, token=token)

    def ask_origins(self):
        token = self.args.tokens[-1]
        self.ask("another host", 421, token=token, headers={"Host": "other.example"})
        self.ask("another site", 403, token=token, headers={"Origin": "http://other.example"})
        self.ask("a page, on the socket", 403, headers={"Origin": "http://localhost"})

    def ask_runs(self):
        if "{run}" in self.path:
            self.ask("no such run", 404, uri=self.path.replace("{run}", "1"))
        if any(p["name"] == "base" for p in self.parameters):
            self.ask("no such base", 404, {"base": 1})

    def ask_processes(self):
        if not any(p["name"] == "pid" for p in self.parameters):
            return
        optional = {"pid": NOBODY} if any(p["name"] == "pid" and p["in"] == "query" for p in self.parameters) else {}
        self.ask("no such process", 404 if "404" in self.op["responses"] else self.good, optional, NOBODY)
        if "start_time" in {p["name"] for p in self.parameters}:
            self.ask("another start", 404 if "404" in self.op["responses"] else self.good, {"start_time": 1})
        optional = {"pid": self.unprofiled} if optional else {}
        self.ask("no profiling", 501 if "501" in self.op["responses"] else self.good, optional, self.unprofiled)
        self.switch(False)
        self.ask("not sampled", 403 if self.op.get("x-needs-active") else self.good)
        self.switch(True)

    def all(self):
        self.switch(True)
        self.ask_well()
        self.switch(True)
        self.ask_badly()
        self.ask_roles()
        self.switch(True)
        self.ask_origins()
        self.ask_runs()
        self.ask_processes()
        self.switch(False)
        return self.wrong, self.asked


def ask(args):
    for line in sys.stdin:
        name, path, operation, pid, unprofiled = line.rstrip("\n").split("\t")
        wrong, n = Asker(Api(path), args, operation, int(pid), int(unprofiled)).all()
        wrong = wrong or ([] if n else ["nothing was asked"])
        print(name, len(wrong), " | ".join(wrong[:10]).replace("\n", " ") or f"{n} as it says", sep="\t", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("list", "routes", "ask"))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--socket")
    parser.add_argument("--port", type=int)
    parser.add_argument("--tokens", nargs=3, help="of " + ", ".join(ROLES))
    args = parser.parse_args()
    if args.do == "ask":
        return ask(args)
    api = Api(args.file)
    if args.do == "list":
        print("\n".join(f"{method} {path}" for method, path in api.operations()))
        return 0
    wrong, n = compare_routes(api)
    print("\n".join(wrong) or f"{n} as it says")
    return bool(wrong) or not n


if __name__ == "__main__":
    sys.exit(main())
