/** What of the packets that policies decide on is logged (reference/topology.md §3.4): an annotation of namespaces and of cluster-wide policies. */
import { own } from '../plain-object.ts';
import { formatValue } from '../validation/field-errors.ts';
import type { Annotated, Reading } from './annotations.ts';
import { asObject, parseJson, problem, readAnnotation } from './annotations.ts';

export const ACL_LOGGING = 'k8s.ovn.org/acl-logging';

const SEVERITIES = ['alert', 'warning', 'notice', 'info', 'debug'] as const;
export type LogSeverity = (typeof SEVERITIES)[number];

/** Severities by what becomes of a packet; what has none is not logged. */
export interface AclLogging {
  readonly allow?: LogSeverity;
  readonly deny?: LogSeverity;
  /** Of cluster-wide policies only. */
  readonly pass?: LogSeverity;
}

const REMEDY =
  'write {"allow": …, "deny": …} with the severities alert, warning, notice, info and debug; until then nothing is logged';

function severityOf(value: unknown, what: string): LogSeverity | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return (
    SEVERITIES.find((severity) => severity === value) ??
    problem(
      `${what} has the severity ${formatValue(value)}, which is not one of ${SEVERITIES.join(', ')}`,
    )
  );
}

/** Undefined for an object that says nothing about it. */
export const aclLogging = (object: Annotated): Reading<AclLogging> =>
  readAnnotation(object, ACL_LOGGING, REMEDY, (text) => {
    if (text === '') return {};
    const levels = asObject(parseJson(text));
    const [allow, deny, pass] = ['allow', 'deny', 'pass'].map((what) =>
      severityOf(own(levels, what), what),
    );
    return {
      ...(allow === undefined ? {} : { allow }),
      ...(deny === undefined ? {} : { deny }),
      ...(pass === undefined ? {} : { pass }),
    };
  });
