/** Traces of pods, where the settings want some. */
import { Counter, type Registry } from 'prom-client';
import { errorText } from '../api/error-text.ts';
import { clipped, visibleText } from '../api/visible-text.ts';
import type { Logger } from '../process/logger.ts';
import { VERSION } from '../process/version.ts';
import { PodTraces } from './pod-traces.ts';

export interface TraceSettings {
  /** Where spans go: OTLP over HTTP, with the path. */
  readonly endpoint: URL;
  /** Part of the pods whose spans are sent, from 0 to 1. */
  readonly ratio: number;
}

export interface OpenTracesOptions {
  readonly settings: TraceSettings;
  /** `heddle-node` or `heddle-cluster`. */
  readonly service: string;
  /** Who the process is among others of the service. */
  readonly instance: string;
  readonly node?: string;
  readonly registry: Registry;
  readonly log: Logger;
}

export interface OpenTraces extends AsyncDisposable {
  readonly pods: PodTraces;
}

/** Characters of what is logged of an endpoint. */
const LONGEST_REASON = 300;

/** Begins to send. What that needs is loaded here: mostly nobody wants it. */
export async function openTraces(options: OpenTracesOptions): Promise<OpenTraces> {
  const { settings, service, instance, node, registry, log } = options;
  const { SpanSender, SPAN_OUTCOMES } = await import('./span-sender.ts');
  const counter = new Counter({
    name: 'heddle_trace_spans_total',
    help: 'Spans of traces (--traces-endpoint) by what became of them: sent; dropped, as too many waited; failed, as the endpoint did not take them.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of SPAN_OUTCOMES) counter.inc({ outcome }, 0);
  let isFailing = false;
  const sender = new SpanSender({
    endpoint: settings.endpoint,
    resource: {
      'service.name': service,
      'service.version': VERSION,
      'service.instance.id': instance,
      ...(node === undefined ? {} : { 'k8s.node.name': node }),
    },
    version: VERSION,
    onEnd(outcome, spans, why) {
      counter.inc({ outcome }, spans);
      if (outcome === 'dropped' || isFailing === (outcome === 'failed')) return;
      isFailing = outcome === 'failed';
      const { origin: endpoint } = settings.endpoint;
      if (!isFailing) log.info({ component: 'traces', endpoint }, 'spans are taken again');
      else
        log.warn(
          { component: 'traces', endpoint, reason: reasonText(why) },
          'spans are lost: see whether --traces-endpoint is right and answers; pods do not wait for it',
        );
    },
  });
  return {
    pods: new PodTraces({ ratio: settings.ratio, send: (span) => sender.send(span) }),
    [Symbol.asyncDispose]: () => sender[Symbol.asyncDispose](),
  };
}

/** What a stranger may have written. */
const reasonText = (why: unknown): string => clipped(visibleText(errorText(why)), LONGEST_REASON);
