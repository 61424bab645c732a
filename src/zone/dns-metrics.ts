/** What Prometheus sees of what pods ask DNS by way of the daemon. */
import { Counter, exponentialBuckets, Histogram, type Registry } from 'prom-client';
import type { DnsEvents } from '../node/dns/dns-forwarder.ts';

export function dnsMetrics(registry: Registry): DnsEvents {
  const registers = [registry];
  const questions = new Counter({
    name: 'heddle_dns_questions_total',
    help: 'Questions of pods to DNS that came to the forwarder (dns-forwarder): answered, failed where no endpoint answered, refused where a pod or all of them asked too much.',
    labelNames: ['protocol', 'outcome'],
    registers,
  });
  const held = new Histogram({
    name: 'heddle_dns_answer_held_seconds',
    help: 'How long answers with new addresses of names in EgressFirewalls were held back until the data plane had these.',
    buckets: exponentialBuckets(0.005, 2, 10),
    registers,
  });
  const late = new Counter({
    name: 'heddle_dns_answers_late_total',
    help: 'Answers that were not given as the data plane did not have their addresses in time: resolvers of pods ask again.',
    registers,
  });
  const named = new Counter({
    name: 'heddle_dns_network_answers_total',
    help: 'Answers to pods of networks whose names nodes answer (network-names): by the node, which knows the name; by the cluster, whose DNS was asked; by nobody, as the name is none of theirs or the question could not be read.',
    labelNames: ['by'],
    registers,
  });
  return {
    onNamed: (by) => named.inc({ by }),
    onQuestion: (protocol, outcome) => questions.inc({ protocol: protocol.toLowerCase(), outcome }),
    onHeld(milliseconds, isInForce) {
      held.observe(milliseconds / 1000);
      if (!isInForce) late.inc();
    },
  };
}
