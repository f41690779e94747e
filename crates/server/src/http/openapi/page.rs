//! Renders the API description as an HTML page without scripts or external resources.

use std::fmt::Write as _;

use serde_json::Value;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.1rem;margin:2.2rem 0 .3rem;border-top:1px solid #ddd;padding-top:1rem}\
code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f6f6f4;padding:.7rem;overflow:auto;border-radius:4px;max-height:24rem}\
.m{display:inline-block;min-width:3.2rem;font-weight:700;text-transform:uppercase;color:#06c}.post{color:#a40}\
table{border-collapse:collapse;width:100%}td{padding:.15rem .8rem .15rem 0;vertical-align:top}details>summary{cursor:pointer;color:#555}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}pre{background:#222}h2{border-color:#333}.m{color:#6af}.post{color:#fa6}details>summary{color:#aaa}}";

pub(super) fn render(description: &Value) -> String {
    let mut page = String::new();
    let title = text(&description["info"]["title"]);
    let _ = write!(
        page,
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style>\
<h1>{title} {}</h1><p>{}</p><p>OpenAPI document: <a href=\"/openapi.json\">/openapi.json</a></p>",
        text(&description["info"]["version"]),
        text(&description["info"]["description"]),
    );
    for (path, methods) in description["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            section(&mut page, path, method, operation);
        }
    }
    page.push_str("<h2>Schemas</h2>");
    for (name, schema) in description["components"]["schemas"].as_object().into_iter().flatten() {
        let _ = write!(
            page,
            "<details id=\"{0}\"><summary><code>{0}</code></summary><pre>{1}</pre></details>",
            escape(name),
            pretty(schema)
        );
    }
    page
}

fn section(page: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        page,
        "<h2 id=\"{}\"><span class=\"m {method}\">{method}</span> <code>{}</code></h2><p>{}</p>",
        text(&operation["operationId"]),
        escape(path),
        text(&operation["summary"]),
    );
    if let Some(schema) = operation["requestBody"]["content"]["application/json"].get("schema") {
        let _ = write!(page, "<p>Body: {}</p>", reference(schema));
    }
    page.push_str("<table>");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let _ =
            write!(page, "<tr><td><code>?{}</code><td>{}", text(&parameter["name"]), text(&parameter["description"]));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let schema = response["content"]
            .as_object()
            .and_then(|content| content.values().next())
            .map(|content| reference(&content["schema"]));
        let _ = write!(
            page,
            "<tr><td>{}<td>{} {}",
            escape(status),
            text(&response["description"]),
            schema.unwrap_or_default()
        );
    }
    page.push_str("</table>");
}

/// Returns a link to a schema.
fn reference(schema: &Value) -> String {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    name.map(|name| format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name))).unwrap_or_default()
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn pretty(value: &Value) -> String {
    escape(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
