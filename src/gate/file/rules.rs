//! `[[gate.rule]]`: a rule and its limits.

use toml::de::DeTable;

use super::Reader;
use crate::gate::key::{Part, Template};
use crate::gate::pattern::{HostPattern, PathPattern};
use crate::gate::rule::{Rule, RuleLimit};
use crate::store::OnFailure;
use crate::store::document::{DocumentError, Result, Value};
use crate::store::policies::{Policy, is_policy_name, spec};

impl<'a> Reader<'a, '_> {
    pub(super) fn rules(
        self,
        value: &Value<'a>,
        rules: &mut Vec<Rule>,
        errors: &mut Vec<DocumentError>,
    ) -> Result<()> {
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.document.expected(value, "[[gate.rule]]"));
        };
        for value in list {
            match self.rule(value, rules) {
                Ok(rule) => rules.push(rule),
                Err(error) => errors.push(error),
            }
        }
        Ok(())
    }

    fn rule(self, value: &Value<'a>, others: &[Rule]) -> Result<Rule> {
        let document = self.document;
        let table = document.table(value, "[[gate.rule]]")?;
        let name = self.rule_name(value, table, others)?;
        let mut rule = Rule {
            name,
            paths: Vec::new(),
            hosts: Vec::new(),
            methods: Vec::new(),
            key: Template::default(),
            limits: Vec::new(),
            answer: None,
            headers: false,
        };
        let (mut dry_run, mut failure) = (false, None);
        for (name, value) in table {
            match &**name.get_ref() {
                "name" | "limit" => {}
                "path" => rule.paths = self.texts(value, "a path", PathPattern::parse)?,
                "host" => rule.hosts = self.texts(value, "a host", HostPattern::parse)?,
                "method" => rule.methods = self.texts(value, "a method", method)?,
                "key" => {
                    rule.key = Template::new(self.texts(value, "a part of a key", Part::parse)?);
                }
                "dry_run" => dry_run = document.boolean(value)?,
                "headers" => rule.headers = document.boolean(value)?,
                "on_failure" => failure = Some(document.failure(value)?),
                "answer" => rule.answer = Some(self.answer(value)?),
                other => {
                    let what = format!(
                        "expected name, path, host, method, key, limit, on_failure, dry_run, \
                         headers or answer, found \"{other}\""
                    );
                    return Err(document.fault_at(name, &what));
                }
            }
        }
        let limits = table
            .get("limit")
            .ok_or_else(|| document.fault_at(value, "expected a limit in this rule"))?;
        rule.limits = document.one_or_more(limits, "a limit", |value| self.limit(value))?;
        self.name_limits(limits, &mut rule, others)?;
        for limit in &mut rule.limits {
            limit.dry_run |= dry_run;
            if let Some(policy) = failure {
                let share = limit.on_failure.unwrap_or_default().local_share;
                limit.on_failure = Some(OnFailure {
                    policy,
                    local_share: share,
                });
            }
        }
        Ok(rule)
    }

    fn rule_name(self, rule: &Value<'a>, table: &DeTable<'a>, others: &[Rule]) -> Result<String> {
        let value = table
            .get("name")
            .ok_or_else(|| self.document.fault_at(rule, "expected a name in this rule"))?;
        let name = self.document.text(value, "a name")?;
        let reason = if !is_policy_name(name) {
            "of letters, digits and . _ - : /, not starting with a digit"
        } else if matches!(name, "allow" | "deny") {
            "other than those of the lists"
        } else if others.iter().any(|other| other.name == name) {
            "that no other rule has"
        } else {
            return Ok(name.to_owned());
        };
        let what = format!("expected a name {reason}, found \"{name}\"");
        Err(self.document.fault_at(value, &what))
    }

    /// A policy, or a limit without a name of its own.
    fn limit(self, value: &Value<'a>) -> Result<RuleLimit> {
        let text = self.document.text(value, "a policy's name or a spec")?;
        let is_spec = text.starts_with(|first: char| first.is_ascii_digit());
        let (name, policy) = if is_spec {
            ("", Policy::from(spec(self.document, value)?))
        } else if let Some(policy) = self.policies.get(text) {
            (text, policy.clone())
        } else {
            let names = self.policies.names();
            let policies = if names.is_empty() {
                "a policy, and [limits] has none".to_owned()
            } else {
                format!("one of the policies in [limits] ({})", names.join(", "))
            };
            let what = format!(
                "expected a spec, which starts with a digit, or {policies}, found \"{text}\""
            );
            return Err(self.document.fault_at(value, &what));
        };
        Ok(RuleLimit {
            name: name.to_owned(),
            limit: policy.limit,
            dry_run: policy.dry_run,
            on_failure: policy.on_failure,
        })
    }

    /// Limits without a name go by that of their rule. They must not share a
    /// count with each other, nor with a policy that is called so.
    fn name_limits(self, value: &Value<'a>, rule: &mut Rule, others: &[Rule]) -> Result<()> {
        let unnamed = rule.limits.iter_mut().filter(|limit| limit.name.is_empty());
        for (index, limit) in unnamed.enumerate() {
            limit.name = match index {
                0 => rule.name.clone(),
                _ => format!("{}:{}", rule.name, index + 1),
            };
            let mut known = others.iter().flat_map(|other| &other.limits);
            if self.policies.get(&limit.name).is_some()
                || known.any(|known| known.name == limit.name)
            {
                let what = format!(
                    "expected the name of a policy: a limit written here is called \"{}\" after \
                     its rule, and there is another limit of that name",
                    limit.name
                );
                return Err(self.document.fault_at(value, &what));
            }
        }
        Ok(())
    }
}

fn method(text: &str) -> std::result::Result<String, String> {
    let is_method = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_method
        .then(|| text.to_ascii_uppercase())
        .ok_or_else(|| format!("expected a method such as \"POST\", found \"{text}\""))
}
