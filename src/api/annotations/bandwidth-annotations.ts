/** How much a pod may send and receive: two annotations of Kubernetes (reference/node.md §6.3). */
import { formatValue } from '../validation/field-errors.ts';
import { problem, readAnnotation, type Annotated, type Reading } from './annotations.ts';

const INGRESS_BANDWIDTH = 'kubernetes.io/ingress-bandwidth';
const EGRESS_BANDWIDTH = 'kubernetes.io/egress-bandwidth';

/** Bits per second; what is not there is not limited. */
export interface Bandwidth {
  /** To the pod. */
  readonly ingress?: number;
  /** From the pod. */
  readonly egress?: number;
}

const LEAST = 1e3;
const MOST = 1e15;
const REMEDY =
  'write bits per second from 1k to 1P as a quantity of Kubernetes, such as 10M, or remove it: it counts when the pod is made again';

/** A number with a suffix of 1000 or 1024, or with an exponent. */
const QUANTITY =
  /^\+?(\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:(m|k|Ki|[MGTPE]i?)|[eE]([+-]?\d{1,2}))?$/;
const POWERS = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

function factorOf(suffix: string): number {
  if (suffix === 'm') return 1e-3;
  const power = POWERS.findIndex(
    (letter) => letter.toLowerCase() === (suffix[0] ?? '').toLowerCase(),
  );
  return (suffix.endsWith('i') ? 1024 : 1000) ** power;
}

function bitsPerSecond(text: string): number {
  const [, number, suffix = '', exponent = '0'] = QUANTITY.exec(text) ?? [];
  if (number === undefined) return problem(`must be a quantity, is ${formatValue(text)}`);
  const value = Math.ceil(Number(number) * factorOf(suffix) * 10 ** Number(exponent));
  return value >= LEAST && value <= MOST
    ? value
    : problem(`must be from 1k to 1P, is ${formatValue(text)}`);
}

/** Of a pod; with an error, neither limit is to be trusted. */
export function bandwidth(pod: Annotated): Reading<Bandwidth> {
  const ingress = readAnnotation(pod, INGRESS_BANDWIDTH, REMEDY, bitsPerSecond);
  const egress = readAnnotation(pod, EGRESS_BANDWIDTH, REMEDY, bitsPerSecond);
  const value = {
    ...(ingress.value === undefined ? {} : { ingress: ingress.value }),
    ...(egress.value === undefined ? {} : { egress: egress.value }),
  };
  return { value, errors: [...ingress.errors, ...egress.errors] };
}
