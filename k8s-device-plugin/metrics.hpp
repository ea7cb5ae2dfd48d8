// SPDX-License-Identifier: Apache-2.0
// What /metrics shows. docs/kubernetes.md lists every name. All calls are safe from any thread and cheap.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>
#include <string_view>

#include "k8s-device-plugin/inventory.hpp"
#include "k8s-device-plugin/preferred.hpp"

namespace kube {

class metrics {
public:
    explicit metrics(const std::string& resource);

    [[nodiscard]] std::string text() const;  // in Prometheus' text format

    void call(std::string_view method, double seconds, bool ok);  // one call of the kubelet
    void preference(const preferred& given);
    // A container got these GPUs; `share` is the step time of the best set of the size over theirs, 0 … 1.
    void allocation(const inventory& node, topo::gpu_mask gpus);
    void devices(const inventory& node, topo::gpu_mask unhealthy);
    void loaded(const inventory& node);
    void registration(bool ok);
    void reload(bool ok);
    void state(bool registered, bool streaming);
    void became_unhealthy(std::string_view reason);
    void became_healthy();
    void health_source(bool answers);

private:
    template <class Metric>
    using family = prometheus::Family<Metric>;

    prometheus::Registry registry_;
    family<prometheus::Histogram>& call_seconds_;
    family<prometheus::Counter>& call_errors_;
    family<prometheus::Counter>& fallbacks_;
    family<prometheus::Counter>& allocations_;
    family<prometheus::Histogram>& optimum_;
    family<prometheus::Gauge>& predicted_;
    family<prometheus::Gauge>& devices_;
    family<prometheus::Gauge>& costs_;
    family<prometheus::Gauge>& measured_at_;
    family<prometheus::Counter>& registrations_;
    family<prometheus::Counter>& reloads_;
    family<prometheus::Gauge>& state_;
    family<prometheus::Counter>& health_changes_;
    family<prometheus::Gauge>& health_source_;
};

}  // namespace kube
