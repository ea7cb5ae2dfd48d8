// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <array>

namespace kube {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

constexpr std::array origins = {cost_origin::cluster_file, cost_origin::node_file, cost_origin::estimated};

auto& make_counter(prometheus::Registry& r, const char* name, const char* help, const std::string& resource) {
    return BuildCounter().Name(name).Help(help).Labels({{"resource", resource}}).Register(r);
}

auto& make_gauge(prometheus::Registry& r, const char* name, const char* help, const std::string& resource) {
    return BuildGauge().Name(name).Help(help).Labels({{"resource", resource}}).Register(r);
}

auto& make_histogram(prometheus::Registry& r, const char* name, const char* help, const std::string& resource) {
    return BuildHistogram().Name(name).Help(help).Labels({{"resource", resource}}).Register(r);
}

prometheus::Histogram::BucketBoundaries call_buckets() {
    return {25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 5e-3, 25e-3, 0.1, 1};
}

}  // namespace

metrics::metrics(const std::string& resource)
    : call_seconds_(make_histogram(registry_, "atoll_call_seconds", "Time spent in one call of the kubelet", resource)),
      call_errors_(make_counter(registry_, "atoll_call_errors_total", "Calls answered with an error", resource)),
      fallbacks_(make_counter(registry_, "atoll_preferred_fallbacks_total",
                              "Preferred allocations not chosen by cost alone, by reason", resource)),
      allocations_(
          make_counter(registry_, "atoll_allocations_total", "Containers given GPUs, by number of GPUs", resource)),
      optimum_(make_histogram(registry_, "atoll_allocation_share_of_optimum",
                              "Ring time of the best set of that size in an empty node over that of the set given",
                              resource)),
      predicted_(make_gauge(registry_, "atoll_allocation_predicted",
                            "Slowest hop of the last set given, by number of GPUs", resource)),
      devices_(make_gauge(registry_, "atoll_devices", "Devices by state", resource)),
      costs_(make_gauge(registry_, "atoll_costs_origin", "1 for where the costs in use came from", resource)),
      measured_at_(make_gauge(registry_, "atoll_costs_measured_timestamp_seconds",
                              "When the costs were measured; 0: unknown or estimated", resource)),
      registrations_(
          make_counter(registry_, "atoll_registrations_total", "Registrations with the kubelet, by result", resource)),
      reloads_(make_counter(registry_, "atoll_reloads_total", "Times devices and costs were read again, by result",
                            resource)),
      state_(make_gauge(registry_, "atoll_kubelet_connection", "1 while registered, or while the kubelet watches",
                        resource)),
      health_changes_(make_counter(registry_, "atoll_health_changes_total",
                                   "GPUs that became unhealthy or healthy, by reason", resource)),
      health_source_(
          make_gauge(registry_, "atoll_health_source_answers", "1 while the source of health answers", resource)) {
    for (const auto fault : {preferred_fault::unknown_ids, preferred_fault::too_few, preferred_fault::no_choice})
        fallbacks_.Add({{"reason", std::string(name_of(fault))}});
    for (const char* result : {"ok", "failed"}) {
        registrations_.Add({{"result", result}});
        reloads_.Add({{"result", result}});
    }
}

std::string metrics::text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

void metrics::call(std::string_view method, double seconds, bool ok) {
    call_seconds_.Add({{"method", std::string(method)}}, call_buckets()).Observe(seconds);
    if (!ok) call_errors_.Add({{"method", std::string(method)}}).Increment();
}

void metrics::preference(const preferred& given) {
    if (given.fault != preferred_fault::none)
        fallbacks_.Add({{"reason", std::string(name_of(given.fault))}}).Increment();
}

void metrics::allocation(const inventory& node, topo::gpu_mask gpus) {
    const unsigned size = topo::count(gpus);
    const std::string count = std::to_string(size);
    allocations_.Add({{"gpus", count}}).Increment();
    if (size < 2) return;
    const auto best = node.table().best(topo::first_gpus(node.hardware().gpus.size()), size);
    const double given = node.table().score(gpus, gpus).ring_us;
    if (best && given > 0)
        optimum_
            .Add({{"gpus", count}}, prometheus::Histogram::BucketBoundaries{0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0})
            .Observe(best->ring_us / given);
    const placement::ring_cost ring = node.table().ring(gpus);
    predicted_.Add({{"gpus", count}, {"what", "latency_us"}}).Set(ring.alpha_us);
    predicted_.Add({{"gpus", count}, {"what", "gb_per_s"}}).Set(ring.gb_per_s);
}

void metrics::devices(const inventory& node, topo::gpu_mask unhealthy) {
    double bad = 0;
    for (const device& d : node.devices())
        if ((unhealthy >> d.gpu & 1) != 0) ++bad;
    devices_.Add({{"state", "healthy"}}).Set(static_cast<double>(node.devices().size()) - bad);
    devices_.Add({{"state", "unhealthy"}}).Set(bad);
}

void metrics::loaded(const inventory& node) {
    for (const cost_origin o : origins)
        costs_.Add({{"origin", std::string(name_of(o))}}).Set(o == node.origin() ? 1 : 0);
    measured_at_.Add({}).Set(static_cast<double>(node.measured_at()));
}

void metrics::registration(bool ok) { registrations_.Add({{"result", ok ? "ok" : "failed"}}).Increment(); }
void metrics::reload(bool ok) { reloads_.Add({{"result", ok ? "ok" : "failed"}}).Increment(); }

void metrics::state(bool registered, bool streaming) {
    state_.Add({{"state", "registered"}}).Set(registered ? 1 : 0);
    state_.Add({{"state", "watched"}}).Set(streaming ? 1 : 0);
}

void metrics::became_unhealthy(std::string_view reason) {
    health_changes_.Add({{"to", "unhealthy"}, {"reason", std::string(reason)}}).Increment();
}
void metrics::became_healthy() { health_changes_.Add({{"to", "healthy"}, {"reason", "clean"}}).Increment(); }
void metrics::health_source(bool answers) { health_source_.Add({}).Set(answers ? 1 : 0); }

}  // namespace kube
