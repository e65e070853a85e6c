//! Files of up to 400 lines, tests excepted; functions of up to 70.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::workspace::{assert_exceptions_are_needed, assert_none, files, rust_files};

const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;

/// Files that may be longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Functions that may be longer, as `file: function`, each with its reason.
const LONG_FUNCTIONS: &[(&str, &str)] = &[];

/// A function and how many lines it has, from its signature to its closing brace.
struct Function {
    name: String,
    line: usize,
    lines: usize,
}

#[derive(Default)]
struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, end: Span) {
        let line = signature.span().start().line;
        self.0.push(Function { name: signature.ident.to_string(), line, lines: end.end().line - line + 1 });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn long_functions(source: &str) -> Vec<Function> {
    let mut functions = Functions::default();
    functions.visit_file(&syn::parse_file(source).expect("the workspace's sources are Rust"));
    functions.0.retain(|function| function.lines > FUNCTION_LINES_MAX);
    functions.0
}

#[test]
fn files_are_short() {
    let is_long = |path: &str| {
        let file = rust_files().into_iter().find(|file| file.path == path);
        file.is_some_and(|file| file.text.lines().count() > FILE_LINES_MAX)
    };
    assert_exceptions_are_needed(LONG_FILES, is_long);
    let mut complaints = Vec::new();
    for file in rust_files().iter().filter(|file| !file.is_test()) {
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX && LONG_FILES.iter().all(|(path, _)| *path != file.path) {
            complaints
                .push(format!("{} has {lines} lines, more than {FILE_LINES_MAX}: it has a second subject", file.path));
        }
    }
    assert_none(&complaints);
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        for function in long_functions(&file.text) {
            long.push((format!("{}: {}", file.path, function.name), function.line, function.lines));
        }
    }
    assert_exceptions_are_needed(LONG_FUNCTIONS, |name| long.iter().any(|(long, ..)| long == name));
    long.retain(|(name, ..)| LONG_FUNCTIONS.iter().all(|(exception, _)| exception != name));
    let say = |(name, line, lines): &(String, usize, usize)| {
        format!("{name} (line {line}) has {lines} lines, more than {FUNCTION_LINES_MAX}")
    };
    assert_none(&long.iter().map(say).collect::<Vec<_>>());
}

#[test]
fn a_function_of_71_lines_is_found_wherever_it_is() {
    let function = |calls| format!("/// Doc.\n#[inline]\nfn long() {{{}\n}}", "\n    call();".repeat(calls));
    let around = [("", ""), ("impl X {\n", "\n}"), ("trait X {\n", "\n}"), ("mod x {\nimpl X for Y {\n", "\n}\n}")];
    for (before, after) in around {
        let found = long_functions(&format!("{before}{}{after}", function(69)));
        assert_eq!(found.len(), 1, "{before}");
        assert_eq!((found[0].name.as_str(), found[0].lines), ("long", 71), "{before}");
        assert!(long_functions(&format!("{before}{}{after}", function(68))).is_empty(), "70 lines are allowed");
    }
}
